# SPDX-License-Identifier: BSD-2-Clause
"""Language models: the command generate, and the form of the networks that it runs."""
