# SPDX-License-Identifier: BSD-2-Clause
"""States, which persist between inferences, and streams: networks over time that process some
frames per inference."""

from .streaming import Stream, frames_of, in_calls, stream_for, stream_of, streamed

__all__ = ["Stream", "frames_of", "in_calls", "stream_for", "stream_of", "streamed"]
