# SPDX-License-Identifier: BSD-2-Clause
"""The host link on the side of the host: pipes of bytes, frames, and the client."""
