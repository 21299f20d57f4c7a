// SPDX-License-Identifier: BSD-2-Clause
// What every harness that records registers exports: HARNESS is its class, with a member `record` and what `level` and `watched` say of a bit.
#pragma once
#include "register_record.hpp"
#include <algorithm>

extern "C" {

// Keeps sums from now on; how many there are, by cycle, and the sums.
void registers_keep(HARNESS *h) { h->record.keeps = true; }
uint64_t registers_sums(HARNESS *h, uint64_t *sums) {
	if (sums) std::copy(h->record.sums.begin(), h->record.sums.end(), sums);
	return h->record.sums.size();
}

// Holds registers against sums, by cycle; those before `begin` say nothing. The first cycle in which they differed, all ones: none.
void registers_expect(HARNESS *h, uint64_t begin, uint64_t count, const uint64_t *sums) {
	h->record.begin = begin;
	h->record.expected.assign(sums, sums + count);
}
uint64_t registers_differ(HARNESS *h) { return h->record.differs; }

// Copies all bits in these cycles, ascending, and where they first differ; how many bits were copied, one byte each, and the copies.
void registers_copy(HARNESS *h, uint64_t count, const uint64_t *cycles) { h->record.cycles.assign(cycles, cycles + count); }
uint64_t registers_copies(HARNESS *h, uint8_t *bits) {
	if (bits) std::copy(h->record.copies.begin(), h->record.copies.end(), bits);
	return h->record.copies.size();
}

// Bits as they are now, one byte each.
void registers_levels(HARNESS *h, uint8_t *bits) {
	for (uint64_t i = 0; i < h->watched(); i++) bits[i] = h->level(i);
}

} // extern "C"
