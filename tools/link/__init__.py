# SPDX-License-Identifier: BSD-2-Clause
"""Host side of the link: byte pipes, frames, and the client."""
