// SPDX-License-Identifier: BSD-2-Clause
// A netlist of look-up tables, flip-flops and hard cells, simulated by events: what no net of a cell has changed is not computed again.
//
// Look-up tables and the combinational part of hard cells are sorted by levels; an event queue a level settles them. Clocks are nets like
// any other. All cells of all clocks that rise (or fall) at one moment take their inputs as they were before it.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
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
	// An edge of one of its clocks; inputs are as they were before the edge. finish() follows after all edges of this moment.
	virtual void edge(Engine &, Net, bool) {}
	virtual void finish(Engine &) {}
	// Outputs that follow inputs.
	virtual void settle(Engine &) {}
	virtual void start(Engine &) {}
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

struct Engine {
	std::vector<uint8_t> value;
	std::vector<Lut> luts;
	std::vector<FlipFlop> flops;
	std::vector<TableWriter> writers;
	std::vector<std::unique_ptr<Cell>> cells;
	std::mt19937_64 random;
	double now = 0;             // picoseconds
	std::string error;

	explicit Engine(uint32_t nets, uint64_t seed) : value(nets, 0), random(seed) { value[HIGH] = 1; }

	bool get(Net net) const { return value[net]; }

	uint64_t number(const Net *nets, unsigned count) const {
		uint64_t result = 0;
		for (unsigned i = 0; i < count; i++) result |= uint64_t(value[nets[i]]) << i;
		return result;
	}

	void set(Net net, bool level) {
		if (value[net] == level) return;
		value[net] = level;
		touched(net);
	}

	// For cells: an output's value after this moment's edges.
	void later(Net net, bool level) { if (net > HIGH) after.push_back({net, level}); }
	void later(const Net *nets, unsigned count, uint64_t number) {
		for (unsigned i = 0; i < count; i++) later(nets[i], number >> i & 1);
	}

	// Sorts by levels and computes everything once. False: `error` says which net is driven by itself.
	bool finish();

	// Lets everything follow nets that were set, edges of clocks included.
	void settle() {
		run();
		while (!edges.empty()) {
			std::vector<Net> now_edges;
			now_edges.swap(edges);
			for (Net net : now_edges) clock(net);
			for (Cell *cell : fired) cell->finish(*this);
			fired.clear();
			for (auto [lut, table] : tables) {
				luts[lut].table = table;
				queue(lut);
			}
			tables.clear();
			std::vector<std::pair<Net, bool>> change;
			change.swap(after);
			for (auto [net, level] : change) set(net, level);
			change.clear();
			run();
		}
	}

	void fire(Cell *cell) {
		if (fired.empty() || fired.back() != cell) {
			for (Cell *each : fired) if (each == cell) return;
			fired.push_back(cell);
		}
	}

private:
	struct ClockGroup {
		std::vector<uint32_t> rising, falling, writers;
		std::vector<Cell *> cells;
	};
	std::vector<uint32_t> fanout_start, fanout;     // nodes (tables, then cells) that follow a net
	std::vector<uint32_t> level;                    // of a node
	std::vector<std::vector<uint32_t>> queues;      // by level
	std::vector<uint8_t> queued;
	std::vector<int32_t> group_of, resets_of;       // of a net, -1: none
	std::vector<ClockGroup> groups;
	std::vector<std::vector<uint32_t>> resets;      // flip-flops with an asynchronous reset
	std::vector<Net> edges;
	std::vector<Cell *> fired;
	std::vector<std::pair<uint32_t, uint16_t>> tables;
	std::vector<std::pair<Net, bool>> after;
	uint32_t lowest = ~0u;

	void queue(uint32_t node) {
		if (queued[node]) return;
		queued[node] = 1;
		queues[level[node]].push_back(node);
		if (level[node] < lowest) lowest = level[node];
	}

	void touched(Net net) {
		for (uint32_t i = fanout_start[net]; i < fanout_start[net + 1]; i++) queue(fanout[i]);
		if (group_of[net] >= 0) edges.push_back(net);
		if (resets_of[net] >= 0 && value[net])
			for (uint32_t flop : resets[resets_of[net]]) set(flops[flop].q, flops[flop].flags & RESET_TO_1);
	}

	void run() {
		for (uint32_t at = lowest; at < queues.size();) {
			lowest = ~0u;
			for (size_t i = 0; i < queues[at].size(); i++) {
				uint32_t node = queues[at][i];
				queued[node] = 0;
				if (node < luts.size()) {
					Lut &lut = luts[node];
					unsigned index = value[lut.in[0]] | value[lut.in[1]] << 1 | value[lut.in[2]] << 2 | value[lut.in[3]] << 3;
					lut.seen |= uint16_t(1u << index);
					set(lut.out, lut.table >> index & 1);
				} else cells[node - luts.size()]->settle(*this);
			}
			queues[at].clear();
			at = lowest < at ? lowest : at + 1;
		}
		lowest = ~0u;
	}

	void clock(Net net) {
		ClockGroup &group = groups[group_of[net]];
		const bool rose = value[net];
		for (uint32_t index : rose ? group.rising : group.falling) {
			const FlipFlop &flop = flops[index];
			bool reset = value[flop.reset], next;
			if (reset && ((flop.flags & ASYNCHRONOUS) || !(flop.flags & ENABLE_FIRST) || value[flop.enable])) next = flop.flags & RESET_TO_1;
			else if (value[flop.enable]) next = value[flop.d];
			else continue;
			if (next != bool(value[flop.q])) after.push_back({flop.q, next});
		}
		if (rose)
			for (uint32_t index : group.writers) {
				const TableWriter &w = writers[index];
				if (!value[w.enable]) continue;
				uint16_t bit = uint16_t(1u << number(w.address, 4));
				tables.push_back({w.lut, uint16_t(value[w.data] ? luts[w.lut].table | bit : luts[w.lut].table & ~bit)});
			}
		for (Cell *cell : group.cells) cell->edge(*this, net, rose);
	}

	ClockGroup &group(Net net) {
		if (group_of[net] < 0) {
			group_of[net] = int32_t(groups.size());
			groups.emplace_back();
		}
		return groups[group_of[net]];
	}
};

inline bool Engine::finish() {
	const size_t nets = value.size(), nodes = luts.size() + cells.size();
	std::vector<std::vector<Net>> reads(nodes);
	std::vector<int32_t> driver(nets, -1);
	for (size_t i = 0; i < luts.size(); i++) {
		reads[i].assign(luts[i].in, luts[i].in + 4);
		driver[luts[i].out] = int32_t(i);
	}
	for (size_t i = 0; i < cells.size(); i++) {
		reads[luts.size() + i] = cells[i]->follows();
		if (!reads[luts.size() + i].empty())
			for (Net net : cells[i]->outputs()) driver[net] = int32_t(luts.size() + i);
	}
	fanout_start.assign(nets + 1, 0);
	for (auto &each : reads) for (Net net : each) if (net > HIGH) fanout_start[net + 1]++;
	for (size_t i = 0; i < nets; i++) fanout_start[i + 1] += fanout_start[i];
	fanout.resize(fanout_start[nets]);
	std::vector<uint32_t> at(fanout_start.begin(), fanout_start.end() - 1);
	std::vector<uint32_t> open(nodes, 0);
	for (size_t i = 0; i < nodes; i++)
		for (Net net : reads[i])
			if (net > HIGH) {
				fanout[at[net]++] = uint32_t(i);
				open[i] += driver[net] >= 0;
			}
	level.assign(nodes, 0);
	std::vector<uint32_t> ready;
	for (size_t i = 0; i < nodes; i++) if (!open[i]) ready.push_back(uint32_t(i));
	uint32_t most = 0;
	for (size_t done = 0; done < ready.size(); done++) {
		uint32_t node = ready[done];
		std::vector<Net> out = node < luts.size() ? std::vector<Net>{luts[node].out} : cells[node - luts.size()]->outputs();
		if (node >= luts.size() && reads[node].empty()) out.clear();
		for (Net net : out)
			for (uint32_t i = fanout_start[net]; i < fanout_start[net + 1]; i++) {
				uint32_t next = fanout[i];
				if (level[next] < level[node] + 1) level[next] = level[node] + 1;
				if (!--open[next]) ready.push_back(next);
			}
		if (level[node] > most) most = level[node];
	}
	if (ready.size() < nodes) {
		for (size_t i = 0; i < nodes; i++)
			if (open[i]) {
				error = std::to_string(i < luts.size() ? luts[i].out : cells[i - luts.size()]->outputs()[0]);
				return false;
			}
	}
	queues.resize(most + 1);
	queued.assign(nodes, 0);
	group_of.assign(nets, -1);
	resets_of.assign(nets, -1);
	for (size_t i = 0; i < flops.size(); i++) {
		FlipFlop &f = flops[i];
		(f.flags & FALLING ? group(f.clock).falling : group(f.clock).rising).push_back(uint32_t(i));
		value[f.q] = bool(f.flags & STARTS_AT_1);
		if ((f.flags & ASYNCHRONOUS) && f.reset > HIGH) {
			if (resets_of[f.reset] < 0) {
				resets_of[f.reset] = int32_t(resets.size());
				resets.emplace_back();
			}
			resets[resets_of[f.reset]].push_back(uint32_t(i));
		}
	}
	for (size_t i = 0; i < writers.size(); i++) group(writers[i].clock).writers.push_back(uint32_t(i));
	for (auto &cell : cells) {
		for (Net net : cell->clocks()) if (net > HIGH) group(net).cells.push_back(cell.get());
		cell->start(*this);
	}
	// What it starts with is no edge.
	for (uint32_t i = 0; i < nodes; i++) queue(i);
	run();
	edges.clear();
	for (auto &list : resets)
		for (uint32_t flop : list) if (value[flops[flop].reset]) set(flops[flop].q, flops[flop].flags & RESET_TO_1);
	run();
	edges.clear();
	for (auto &lut : luts) lut.seen = 0;
	return true;
}

} // namespace quintet
