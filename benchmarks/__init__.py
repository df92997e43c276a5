"""Measurements that stand in docs/benchmarks.md; `./run bench` repeats them."""
