# SPDX-License-Identifier: BSD-2-Clause
"""Memory layout of matrices and weights (specification, section 7.1).

A matrix M x K is ceil(K/N) blocks of M vectors: block b holds columns b*N .. b*N+N-1. Weights K x O
are tiles of N x N, row = input element: tile (k, j), number k*ceil(O/N) + j, holds rows k*N.. and
columns j*N... Both are padded with zeros.
"""

import numpy as np

__all__ = ["blocks", "pack_matrix", "pack_weights", "unpack_matrix", "unpack_weights"]


def blocks(columns: int, n: int) -> int:
    """Number of blocks of ``n`` columns that cover ``columns``."""
    return -(-columns // n)


def _two_dimensional(array, name):
    array = np.asarray(array)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must be a matrix with at least one row and column, not of shape {array.shape}"
        )
    return array


def pack_matrix(matrix: np.ndarray, n: int) -> np.ndarray:
    """Packs a matrix [M, K] into vectors [ceil(K/n) * M, n] of the same dtype."""
    matrix = _two_dimensional(matrix, "matrix")
    rows, columns = matrix.shape
    count = blocks(columns, n)
    padded = np.zeros((rows, count * n), matrix.dtype)
    padded[:, :columns] = matrix
    return np.ascontiguousarray(padded.reshape(rows, count, n).transpose(1, 0, 2)).reshape(
        count * rows, n
    )


def unpack_matrix(vectors: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The inverse of :func:`pack_matrix`: vectors [ceil(columns/n) * rows, n] -> matrix [rows,
    columns]."""
    vectors = _two_dimensional(vectors, "vectors")
    n = vectors.shape[1]
    count = blocks(columns, n)
    if len(vectors) != count * rows:
        raise ValueError(
            f"{rows} x {columns} takes {count * rows} vectors of {n}, not {len(vectors)}"
        )
    return np.ascontiguousarray(
        vectors.reshape(count, rows, n).transpose(1, 0, 2).reshape(rows, count * n)[:, :columns]
    )


def pack_weights(weights: np.ndarray, n: int) -> np.ndarray:
    """Packs weights [K, O] into tiles [ceil(K/n) * ceil(O/n), n, n] of the same dtype."""
    weights = _two_dimensional(weights, "weights")
    inputs, outputs = weights.shape
    down, across = blocks(inputs, n), blocks(outputs, n)
    padded = np.zeros((down * n, across * n), weights.dtype)
    padded[:inputs, :outputs] = weights
    return np.ascontiguousarray(padded.reshape(down, n, across, n).transpose(0, 2, 1, 3)).reshape(
        down * across, n, n
    )


def unpack_weights(tiles: np.ndarray, inputs: int, outputs: int) -> np.ndarray:
    """The inverse of :func:`pack_weights`: tiles [.., n, n] -> weights [inputs, outputs]."""
    tiles = np.asarray(tiles)
    if tiles.ndim != 3 or tiles.shape[1] != tiles.shape[2]:
        raise ValueError(f"tiles must be of shape [count, n, n], not {tiles.shape}")
    n = tiles.shape[1]
    down, across = blocks(inputs, n), blocks(outputs, n)
    if len(tiles) != down * across:
        raise ValueError(
            f"{inputs} x {outputs} takes {down * across} tiles of {n} x {n}, not {len(tiles)}"
        )
    padded = tiles.reshape(down, across, n, n).transpose(0, 2, 1, 3).reshape(down * n, across * n)
    return np.ascontiguousarray(padded[:inputs, :outputs])
