# SPDX-License-Identifier: BSD-2-Clause
"""The host link in the board: UART, frames, and the bridge to bus and memory."""
