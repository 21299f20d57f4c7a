# SPDX-License-Identifier: BSD-2-Clause
"""Bus models for tests: slaves with protocol checkers, and requesters. Each is a function of a
cycle's sampled signals, so that pysim and CXXRTL run the same models."""
