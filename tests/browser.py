"""A headless Chromium, driven over the WebDriver protocol with the standard library alone."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
]
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """One window; use it in a ``with`` statement."""

    def __enter__(self) -> Browser:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._driver = subprocess.Popen(
            [CHROMEDRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._root = f"http://127.0.0.1:{port}"
        try:
            self._wait_for_driver()
            options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={self._profile.name}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._stop()
            raise
        self._root += f"/session/{session['sessionId']}"
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call("DELETE", "", None)
        finally:
            self._stop()

    def _stop(self) -> None:
        self._driver.terminate()
        self._driver.wait(10)
        self._profile.cleanup()

    def _wait_for_driver(self) -> None:
        end = time.monotonic() + 20.0
        while True:
            try:
                if self._call("GET", "/status", None)["ready"]:
                    return
            except (OSError, urllib.error.URLError):
                if time.monotonic() > end:
                    raise
            time.sleep(0.05)

    def _call(self, method: str, path: str, body: Any) -> Any:
        text = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, text, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def cdp(self, command: str, **parameters: Any) -> Any:
        """Send a command of the Chrome DevTools protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Set the size of the page and the colour scheme that its reader prefers."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        # Where scrolling takes its time, clicks go astray.
        wanted = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in wanted.items()])

    def open(self, path: Path) -> None:
        """Load a file and wait until its script has run."""
        self._call("POST", "/url", {"url": path.absolute().as_uri()})
        end = time.monotonic() + 10.0
        while self.run("return document.documentElement.dataset.ready") != "yes":
            if time.monotonic() > end:
                raise TimeoutError(f"the script of {path} did not finish: {self.log()}")
            time.sleep(0.02)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript and return what it returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        """Return the text that an element shows."""
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def log(self) -> list[dict[str, Any]]:
        """Return what the console has said since the last call."""
        return self._call("POST", "/se/log", {"type": "browser"})

    def _element(self, selector: str) -> dict[str, str]:
        return self._call("POST", "/element", {"using": "css selector", "value": selector})

    def click(self, selector: str) -> None:
        """Click an element as a mouse does."""
        self._call("POST", f"/element/{self._element(selector)[_ELEMENT]}/click", {})

    def type(self, selector: str, keys: str) -> None:
        """Send keys to an element."""
        self._call("POST", f"/element/{self._element(selector)[_ELEMENT]}/value", {"text": keys})

    def pointer(self, selector: str, *steps: tuple[str, float, float]) -> None:
        """Use a mouse: ``("move", x, y)`` from the upper left of an element, ``("down", 0, 0)``, ``("up", 0, 0)``."""
        self.run(
            "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", selector
        )
        left, top = self.run(
            "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top]", selector
        )
        actions: list[dict[str, Any]] = []
        for kind, x, y in steps:
            if kind == "move":
                actions.append({"type": "pointerMove", "x": round(left + x), "y": round(top + y), "duration": 20})
            else:
                actions.append({"type": f"pointer{kind.title()}", "button": 0})
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self._call("POST", "/actions", {"actions": [mouse]})

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as PNG."""
        picture = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(picture["data"]))
