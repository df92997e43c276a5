"""Compiled moves of Markov chains, shared by priors."""
