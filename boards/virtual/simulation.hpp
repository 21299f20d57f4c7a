// SPDX-License-Identifier: BSD-2-Clause
// One compiled design and its clock. A harness derives from Simulation, drives inputs, and calls tick().
#pragma once
#include "features.hpp"
#include "design.h"
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#if QUINTET_TRACE
#include <cxxrtl/cxxrtl_vcd.h>
#endif

namespace quintet {

using Design = cxxrtl_design::p_top;

template <size_t W> inline uint32_t *chunks(cxxrtl::value<W> &v) { return v.data; }
template <size_t W> inline uint32_t *chunks(cxxrtl::wire<W> &w) { return w.curr.data; }

// Bits low .. low+count-1 (count <= 64) of a port.
template <typename P> inline uint64_t bits(P &port, unsigned low, unsigned count) {
	const uint32_t *c = chunks(port);
	uint64_t result = 0;
	for (unsigned done = 0; done < count;) {
		unsigned at = low + done, inside = at % 32, take = 32 - inside;
		if (take > count - done) take = count - done;
		uint64_t part = (uint64_t(c[at / 32]) >> inside) & ((uint64_t(1) << take) - 1);
		result |= part << done;
		done += take;
	}
	return result;
}

template <typename P> inline void put(P &port, unsigned low, unsigned count, uint64_t value) {
	uint32_t *c = chunks(port);
	for (unsigned done = 0; done < count;) {
		unsigned at = low + done, inside = at % 32, take = 32 - inside;
		if (take > count - done) take = count - done;
		uint64_t mask = ((uint64_t(1) << take) - 1) << inside;
		c[at / 32] = uint32_t((c[at / 32] & ~mask) | (((value >> done) << inside) & mask));
		done += take;
	}
}

template <typename P> inline bool flag(P &port) { return chunks(port)[0] & 1; }
template <typename P> inline void flag(P &port, bool value) { chunks(port)[0] = value; }

struct Port {
	const char *name;
	unsigned width;
	int input;
	uint32_t *(*where)(Design &);
};

// A memory of the design: words of whole chunks, one behind another.
struct Cells {
	const char *name;
	uint32_t *(*where)(Design &);
};

// Keeps the first assertion of the gateware that failed.
struct Checks : cxxrtl::performer {
	std::string message;
	void on_check(cxxrtl::flavor type, bool condition, const cxxrtl::lazy_fmt &text,
	              const cxxrtl::metadata_map &) override {
		if (condition || !message.empty()) return;
		if (type == cxxrtl::flavor::ASSERT || type == cxxrtl::flavor::ASSUME) {
			message = "an assertion of the gateware failed";
			std::string detail = text();
			if (!detail.empty()) message += ": " + detail;
		}
	}
	void on_print(const cxxrtl::lazy_fmt &text, const cxxrtl::metadata_map &) override {
		std::fputs(text().c_str(), stderr);
	}
};

struct Simulation {
	Design top;
	Checks checks;
	uint64_t cycle = 0;
	// Edges of the second clock: `second_edges` in `main_edges` cycles of the main one, counted on in `phase`.
	uint64_t second_edges = 1, main_edges = 1, phase = 0;
	std::string error;            // first broken rule; a harness stops there
	bool shared = false;          // the caller has the address of a memory of the design and may write to it between two calls
#if QUINTET_TRACE
	cxxrtl::debug_items items;
	cxxrtl::vcd_writer vcd;
	std::FILE *trace_file = nullptr;
	uint64_t trace_from = 0;
#endif
	int trace_error = 0;          // errno of a write of the trace that failed; nothing is traced behind it

	// Memories or registers of the design may have been changed by others: everything is evaluated once.
	void touch() {
#if QUINTET_GATED
		top.touch();
#endif
	}

	// At the beginning of each exported function that simulates.
	void enter() {
		if (shared) touch();
	}

	// Called before each edge of the second clock changes state, as `observe` is before those of the main one.
	virtual void at_second() {}

	virtual ~Simulation() {
#if QUINTET_TRACE
		end_trace();
#endif
	}

	void fail(const std::string &what) {
		if (error.empty()) error = "cycle " + std::to_string(cycle) + ": " + what;
	}

	void second(bool edge) {
#if QUINTET_SECOND_CLOCK
		chunks(top.p_second__clk)[0] = 1;
		chunks(top.prev_p_second__clk)[0] = !edge;
#endif
		(void)edge;
	}

	void main(bool edge) {
#if QUINTET_CLOCK_USED
		chunks(top.p_clk)[0] = 1;
		chunks(top.prev_p_clk)[0] = !edge;
#endif
		(void)edge;
	}

	// The second clock's edges between two of the main one; true if one more falls together with the main one's.
	bool between() {
#if QUINTET_SECOND_CLOCK
		for (phase += second_edges; phase > main_edges; phase -= main_edges) {
#if !QUINTET_ONE_PASS
			settle();
#endif
			main(false), second(true);
			top.eval(&checks);
			at_second();
			top.commit();
		}
		if (phase < main_edges) return false;
		phase = 0;
		return true;
#else
		return false;
#endif
	}

	// Lets combinational outputs follow the inputs without a clock edge.
	void settle() {
		main(false), second(false);
		for (int pass = 0; pass < 1000; pass++) {
			bool converged = top.eval(&checks);
			if (!top.commit() || converged) return;
		}
		fail("combinational logic does not settle");
	}

	// One cycle. Outputs are looked at by `observe`, after they settled and before the rising edge changes state;
	// whatever it sets of the inputs counts from the next cycle.
	template <typename F> inline void tick(F &&observe) {
		const bool together = between();
#if !QUINTET_ONE_PASS
		settle();
#endif
		main(true), second(together);
		top.eval(&checks);
		if (together) at_second();
		observe();
		top.commit();
		cycle++;
		if (!checks.message.empty()) fail(checks.message);
#if QUINTET_TRACE
		if (trace_file && cycle >= trace_from) sample();
#endif
	}

	void reset(bool level) {
#if QUINTET_HAS_RESET
		chunks(top.p_rst)[0] = level;
#endif
		(void)level;
	}

#if QUINTET_TRACE
	void sample() {
		settle();
		vcd.sample(cycle);
		const size_t size = vcd.buffer.size();
		const bool lost = std::fwrite(vcd.buffer.data(), 1, size, trace_file) != size;
		if (lost) trace_error = errno;
		vcd.buffer.clear();
		if (lost) end_trace(), fail("the trace cannot be written");
	}
#endif

	// Writes out what is left of a trace; afterwards nothing is traced, and `trace_error` tells whether all was written.
	void end_trace() {
#if QUINTET_TRACE
		if (trace_file && std::fclose(trace_file) && !trace_error) trace_error = errno;
		trace_file = nullptr;
#endif
	}

	// A VCD, one time unit a cycle, from cycle `from` on. False: cannot be written, or built without traces.
	bool trace(const char *path, uint64_t from) {
#if QUINTET_TRACE
		if (trace_file) return false;
		trace_file = std::fopen(path, "wb");
		if (!trace_file) return false;
		trace_from = from;
		top.debug_info(&items, nullptr, "top ");
		vcd.timescale(1, "ns");
		vcd.add_without_memories(items);
		return true;
#else
		(void)path, (void)from;
		return false;
#endif
	}
};

} // namespace quintet
