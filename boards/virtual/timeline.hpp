// SPDX-License-Identifier: BSD-2-Clause
// A run as slices: what each unit of the core was at, and from when to when. Looked at in every cycle, kept by runs of equal cycles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace quintet {

struct TimelineRow {
	int32_t flags, number;    // ports; number -1: none
	uint32_t kind;            // 0: a level, 1: a queue, 2: pulses
	uint32_t second;          // signals of the second clock
	uint64_t gap;             // pulses no further from each other are one slice, in ticks
};

struct TimelineSlice {
	uint64_t begin, end;      // ticks from the start of the first run
	uint32_t row, number;
	uint64_t count;           // pulses
};

// Time is counted in ticks, of which a cycle of either clock has a whole number. Row 0 is high while the core runs: the first
// cycle in which it is begins the timeline, and the end of each run ends what is queued.
struct Timeline {
	struct Waiting {
		uint32_t number, parts;
	};
	struct Row {
		TimelineRow about;
		const uint32_t *flags, *number;
		bool open = false;
		uint32_t shown = 0;
		uint64_t begin = 0, last = 0, count = 0;
		std::deque<Waiting> waiting;
	};
	// What is asked of each row in every cycle: whether anything has changed, or happens that counts by itself.
	struct Glance {
		const uint32_t *flags, *number;
		uint32_t was_flags, was_number, events;
		uint32_t row;
	};
	std::vector<Row> rows;
	std::vector<Glance> main_rows, second_rows;
	std::vector<TimelineSlice> slices;
	uint64_t from = 0, to = ~0ull, limit = 0;
	uint64_t main_ticks = 1, second_ticks = 1;
	uint64_t base = 0, now = 0, seconds = 0;
	uint64_t full = ~0ull;    // where the timeline ends since there are too many slices
	bool started = false, running = false;

	void add(const TimelineRow &about, const uint32_t *flags, const uint32_t *number) {
		static const uint32_t none = 0;
		static const uint32_t events[] = {2, 2 | 4, 1};
		const bool shown = number && about.kind == 0;
		(about.second ? second_rows : main_rows).push_back({flags, shown ? number : &none, ~0u, 0, events[about.kind], uint32_t(rows.size())});
		Row row;
		row.about = about, row.flags = flags, row.number = number;
		rows.push_back(row);
	}

	void put(std::size_t k, uint64_t end) {
		Row &row = rows[k];
		row.open = false;
		uint64_t begin = row.begin < from ? from : row.begin;
		if (end > to) end = to;
		if (begin >= end || full != ~0ull) return;
		if (slices.size() >= limit) {
			full = begin;
			return;
		}
		slices.push_back({begin, end, uint32_t(k), row.shown, row.count});
	}

	void open(Row &row, uint32_t number, uint64_t begin) { row.open = true, row.shown = number, row.begin = begin, row.count = 0; }

	void look(std::size_t k, uint64_t begin, uint64_t end) {
		Row &row = rows[k];
		const uint32_t flags = *row.flags;
		const bool busy = flags & 1;
		if (row.about.kind == 0) {
			const uint32_t number = row.number ? *row.number : 0;
			if (row.open && (!busy || (flags & 2) || number != row.shown)) put(k, begin);
			if (busy && !row.open) open(row, number, begin);
		} else if (row.about.kind == 1) {
			if (!row.waiting.empty()) {
				if ((busy || (flags & 4)) && !row.open) open(row, row.waiting.front().number, begin);
				if ((flags & 4) && !--row.waiting.front().parts) put(k, end), row.waiting.pop_front();
			}
			if (flags & 2) row.waiting.push_back({row.number ? *row.number : 0, flags >> 3 ? flags >> 3 : 1});
		} else if (busy) {
			if (row.open && begin - row.last > row.about.gap) put(k, row.last);
			if (!row.open) open(row, 0, begin);
			row.last = end;
			if (begin >= from && begin < to) row.count++;
		}
	}

	void glance(std::vector<Glance> &those, uint64_t begin, uint64_t end) {
		for (Glance &g : those) {
			const uint32_t flags = *g.flags, number = *g.number;
			if (flags == g.was_flags && number == g.was_number && !(flags & g.events)) continue;
			g.was_flags = flags, g.was_number = number;
			look(g.row, begin, end);
		}
	}

	void at_main(uint64_t cycle) {
		const uint64_t begin = cycle * main_ticks;
		if (!started) {
			if (!(*rows[0].flags & 1)) return;
			// Slices of the second clock begin at its cycles.
			started = true, base = begin - begin % second_ticks;
		}
		const uint64_t since = begin - base;
		now = since + main_ticks;
		if (since >= to) return;
		const bool runs = *rows[0].flags & 1;
		glance(main_rows, since, now);
		if (running && !runs)
			for (std::size_t k = 0; k < rows.size(); k++)
				if (rows[k].about.kind == 1) {
					if (rows[k].open) put(k, since);
					rows[k].waiting.clear();
				}
		running = runs;
	}

	// Edges of the second clock are counted from the beginning on, as `cycle` is.
	void at_second() {
		const uint64_t end = ++seconds * second_ticks;
		if (!started || end <= base) return;
		const uint64_t since = end - second_ticks - base;
		if (since >= to) return;
		glance(second_rows, since, since + second_ticks);
	}

	// What is not over ends here; it goes on in another slice.
	void cut() {
		for (std::size_t k = 0; k < rows.size(); k++)
			if (rows[k].open) {
				const uint64_t end = rows[k].about.kind == 2 ? rows[k].last : now;
				put(k, end);
			}
		for (auto *those : {&main_rows, &second_rows})
			for (Glance &g : *those) g.was_flags = ~0u;
	}
};

} // namespace quintet
