// SPDX-License-Identifier: BSD-2-Clause
// What a netlist is made of: look-up tables, flip-flops, hard cells.
#pragma once
#include <cstdint>
#include <vector>

namespace quintet {

using Net = uint32_t;
constexpr Net LOW = 0, HIGH = 1;    // nets of the constants

struct Engine;

// A hard cell: memory, multiplier, I/O cell. `pins` are nets by its kind's order.
struct Cell {
	std::vector<Net> pins;
	virtual ~Cell() = default;
	// Nets whose edges it looks at, and nets that its outputs follow without a clock, with those outputs.
	virtual std::vector<Net> clocks() const { return {}; }
	virtual std::vector<Net> follows() const { return {}; }
	virtual std::vector<Net> outputs() const = 0;
	// The rising edge of one of its clocks; inputs are as they were before it. finish() follows after all edges of this moment.
	virtual void edge(Engine &, Net) {}
	virtual void finish(Engine &) {}
	// Outputs that follow inputs.
	virtual void settle(Engine &) {}
	virtual void start(Engine &) {}
	// Edges that it still looks at although no pin of it changes: as many as it has registers one behind the other, and more.
	static constexpr uint8_t RESTLESS = 5;
	uint8_t awake = RESTLESS;
	bool sleeps = true, fired = false;
	bool twin = false;          // of a memory: the gateware has it by name, with a twin that a virtual board simulates
	// What it holds, as a sum that is kept up to date: of a row (or a register, by a number) that was `before` and is `now`.
	uint64_t contents = 0;
	uint32_t number = 0;
	void stored(Engine &, uint32_t row, uint64_t before, uint64_t now);
	// Of memories: rows that were read before anything was written to them, by number.
	std::vector<uint8_t> read_first;
	void row_read(unsigned row) { if (row < read_first.size() && !read_first[row]) read_first[row] = 1; }
	void row_written(unsigned row) { if (row < read_first.size() && !read_first[row]) read_first[row] = 2; }
};

struct Lut {
	Net in[4], out;
	uint16_t table, seen;       // `seen`: inputs that have occurred
};

enum FlipFlopFlags : uint32_t { FALLING = 1, ASYNCHRONOUS = 2, RESET_TO_1 = 4, STARTS_AT_1 = 8, ENABLE_FIRST = 16 };

struct FlipFlop {
	Net clock, d, enable, reset, q;
	uint32_t flags;
};

// One bit of a look-up table used as memory: it is written at the rising edge, and read as a table.
struct TableWriter {
	Net clock, enable, data, address[4];
	uint32_t lut;
};

} // namespace quintet
