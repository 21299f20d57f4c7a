// SPDX-License-Identifier: BSD-2-Clause
// What every harness exports: construction, ports by index, memories, errors, traces. HARNESS is its class.
#pragma once
#include "ports.hpp"

extern "C" {

HARNESS *quintet_new() { return new HARNESS; }
void quintet_delete(HARNESS *h) { delete h; }
uint64_t quintet_cycle(HARNESS *h) { return h->cycle; }
const char *quintet_error(HARNESS *h) { return h->error.c_str(); }
// An assertion that still fails is reported again.
void quintet_clear_error(HARNESS *h) { h->error.clear(); h->checks.message.clear(); h->touch(); }
int quintet_trace(HARNESS *h, const char *path, uint64_t from) { return h->trace(path, from); }
// Ends a trace; the errno of its first write that failed, or 0.
int quintet_end_trace(HARNESS *h) { h->end_trace(); return h->trace_error; }
int quintet_trace_error(HARNESS *h) { return h->trace_error; }
// `second` edges of the second clock in `main` cycles.
void quintet_clocks(HARNESS *h, uint64_t second, uint64_t main) { h->second_edges = second, h->main_edges = main; }
void quintet_settle(HARNESS *h) { h->enter(), h->settle(); }

int quintet_port(const char *name) {
	for (int i = 0; quintet_ports[i].name; i++)
		if (!std::strcmp(quintet_ports[i].name, name)) return i;
	return -1;
}

void quintet_set(HARNESS *h, int port, const uint32_t *value) {
	const quintet::Port &p = quintet_ports[port];
	std::memcpy(p.where(h->top), value, (p.width + 31) / 32 * 4);
}

void quintet_get(HARNESS *h, int port, uint32_t *value) {
	const quintet::Port &p = quintet_ports[port];
	std::memcpy(value, p.where(h->top), (p.width + 31) / 32 * 4);
}

uint32_t *quintet_memory(HARNESS *h, const char *name) {
	h->shared = true;
	for (const quintet::Cells *m = quintet_memories; m->name; m++)
		if (!std::strcmp(m->name, name)) return m->where(h->top);
	return nullptr;
}

} // extern "C"
