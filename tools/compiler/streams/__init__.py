# SPDX-License-Identifier: BSD-2-Clause
"""States, which stay between inferences, and streams: networks over time that take some frames at a
time."""

from .streaming import Stream, frames_of, in_calls, stream_for, stream_of, streamed

__all__ = ["Stream", "frames_of", "in_calls", "stream_for", "stream_of", "streamed"]
