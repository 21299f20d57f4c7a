# SPDX-License-Identifier: BSD-2-Clause
"""Board side of the host link: UART, USB, frames, and the bridge to bus and memory."""
