// SPDX-License-Identifier: BSD-2-Clause
// Main memory behind one memory port (docs/how/contracts.md, section 2), as contrary or as fast as the contract allows.
// Everything the asking side sees comes from registers: it never answers in the cycle of the question.
#pragma once
#include "simulation.hpp"
#include <deque>
#include <vector>

namespace quintet {

// Deterministic, and the same everywhere.
struct Random {
	uint64_t state = 1;
	void seed(uint64_t value) { state = value * 0x9E3779B97F4A7C15ull + 0x1234567; next(); }
	uint64_t next() {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		return state * 0x2545F4914F6CDD1Dull >> 11;
	}
	uint32_t below(uint32_t limit) { return limit ? uint32_t(next() % limit) : 0; }
	bool percent(uint32_t p) { return p && below(100) < p; }
};

// How one port behaves. All zero but depth and latency: one beat a cycle, in order, `latency` cycles after the request.
struct Behaviour {
	uint32_t latency = 1;        // cycles from a request to its first beat or acknowledgement, at least 1
	uint32_t latency_spread = 0; // and up to so many more, drawn for every request
	uint32_t gap = 0;            // up to so many cycles before a beat is served ...
	uint32_t gap_percent = 0;    // ... for so many beats of a hundred
	uint32_t stall_percent = 0;  // cycles of a hundred in which neither requests nor write beats are taken
	uint32_t depth = 8;          // requests that wait
	uint32_t answers = 4096;     // read beats on their way
};

struct Injection {
	int port;                    // -1: any
	int write;                   // -1: both directions
	uint64_t low, high;          // bytes: any beat in low .. high-1
	uint64_t skip;               // beats that pass before
	uint64_t count;              // beats that fail, then it is spent
};

struct Memory {
	uint8_t *data = nullptr;
	uint64_t size = 0;
	uint64_t window_base = 0, window_limit = ~uint64_t(0);
	unsigned beat = 1;
	std::vector<Injection> injections;

	bool fails(int port, bool write, uint64_t address) {
		bool error = address + beat > size;
		for (auto &i : injections) {
			if ((i.port >= 0 && i.port != port) || (i.write >= 0 && bool(i.write) != write)) continue;
			if (address + beat <= i.low || address >= i.high || !i.count) continue;
			if (i.skip) i.skip--;
			else i.count--, error = true;
		}
		return error;
	}
};

struct PortModel {
	struct Request { uint64_t address; uint32_t left; bool write, error; uint64_t from; };
	struct Answer { uint64_t at; bool write, error, last; std::vector<uint8_t> data; };

	int index = 0;
	Memory *memory = nullptr;
	Behaviour how;
	Random random;

	// ports of the design
	uint32_t *req_valid, *req_ready, *req_payload, *w_valid, *w_ready, *w_payload;
	uint32_t *r_valid, *r_ready, *r_payload, *ack_valid, *ack_ready, *ack_payload;

	std::deque<Request> requests;
	std::deque<std::vector<uint8_t>> writes;    // beats taken, data then mask
	std::deque<Answer> answers;                 // on their way, reads and writes together in order, one a cycle
	uint32_t reads = 0;                         // read beats among them
	uint64_t wait = 0;                          // cycles until the next beat may be served
	bool drawn = false;                         // its gap was drawn
	uint64_t last_answer = 0;                   // when the last answer put on its way is due
	// what the other side offered and was not yet taken
	std::vector<uint8_t> offered_req, offered_w;
	// totals since `clear`
	uint64_t read_requests = 0, write_requests = 0, read_beats = 0, write_beats = 0, beats_asked = 0, beats_offered = 0;

	unsigned payload_bytes(unsigned bits) const { return (bits + 7) / 8; }

	// Forget everything under way; the design's side was reset.
	void drop() {
		requests.clear(), writes.clear(), answers.clear();
		offered_req.clear(), offered_w.clear();
		beats_asked = beats_offered = 0;
		reads = 0;
		wait = 0;
		drawn = false;
		*r_valid = *ack_valid = 0;
	}

	bool idle() const { return requests.empty() && writes.empty() && answers.empty() && beats_asked == beats_offered; }

	std::string what(const char *text, uint64_t address) const {
		std::ostringstream s;
		s << "memory port " << index << ": " << text << " (address 0x" << std::hex << address << ")";
		return s.str();
	}

	void stable(std::vector<uint8_t> &offered, bool valid, bool taken, const uint32_t *payload, unsigned bits,
	            const char *name, std::string &error) {
		unsigned n = payload_bytes(bits);
		const uint8_t *now = reinterpret_cast<const uint8_t *>(payload);
		if (!offered.empty()) {
			if (!valid) error = what(name, 0) + ": valid fell before ready";
			else if (std::memcmp(offered.data(), now, n)) error = what(name, 0) + ": payload changed while it waited";
		}
		if (valid && !taken) offered.assign(now, now + n);
		else offered.clear();
	}

	// Looks at the outputs of the design in this cycle; returns a broken rule, or nothing.
	std::string observe(uint64_t now) {
		std::string error;
		const unsigned beat = memory->beat;
		bool rv = *req_valid & 1, taken = rv && *req_ready;
		stable(offered_req, rv, taken, req_payload, 41, "req", error);
		if (taken) {
			uint64_t address = req_payload[0];
			uint32_t beats = (req_payload[1] & 0xFF) + 1;
			bool write = req_payload[1] >> 8 & 1;
			if (address % beat) error = what("request is not aligned to a beat", address);
			if (address + uint64_t(beats) * beat > uint64_t(1) << 32) error = what("burst runs past 2^32", address);
			if (address < memory->window_base || address + uint64_t(beats) * beat > memory->window_limit)
				error = what("request leaves the window", address);
			requests.push_back({address, beats, write, false, now + how.latency + random.below(how.latency_spread + 1)});
			(write ? write_requests : read_requests)++;
			if (write) beats_asked += beats;
		}
		bool wv = *w_valid & 1, w_taken = wv && *w_ready;
		stable(offered_w, wv, w_taken, w_payload, beat * 9, "w", error);
		if (w_taken) {
			// data then mask; the mask starts at a byte, since a beat is whole bytes
			const uint8_t *p = reinterpret_cast<const uint8_t *>(w_payload);
			writes.emplace_back(p, p + payload_bytes(beat * 9));
			beats_offered++;
		}
		if (*r_valid && (*r_ready & 1)) answers.pop_front(), reads--, read_beats++;
		if (*ack_valid && (*ack_ready & 1)) answers.pop_front();
		serve(now);
		return error;
	}

	void serve(uint64_t now) {
		if (requests.empty()) return;
		Request &r = requests.front();
		const unsigned beat = memory->beat;
		if (r.write ? writes.empty() : reads >= how.answers) return;
		if (wait) { wait--; return; }
		// Drawn once for a beat.
		if (!drawn && how.gap && random.percent(how.gap_percent)) {
			drawn = true;
			wait = random.below(how.gap + 1);
			if (wait) { wait--; return; }
		}
		drawn = false;
		uint64_t due = r.from > now + 1 ? r.from : now + 1;
		if (due <= last_answer) due = last_answer + 1;
		bool error = memory->fails(index, r.write, r.address);
		bool last = --r.left == 0;
		if (r.write) {
			const std::vector<uint8_t> &w = writes.front();
			if (!error)
				for (unsigned i = 0; i < beat; i++)
					if (w[beat + i / 8] >> (i % 8) & 1) memory->data[r.address + i] = w[i];
			writes.pop_front();
			write_beats++;
			r.error |= error;
			if (last) answers.push_back({last_answer = due, true, r.error, true, {}});
		} else {
			Answer b{last_answer = due, false, error, last, {}};
			if (!error) b.data.assign(memory->data + r.address, memory->data + r.address + beat);
			else b.data.assign(beat, uint8_t(random.next()));
			answers.push_back(std::move(b)), reads++;
		}
		r.address += beat;
		if (last) requests.pop_front();
	}

	// Sets the inputs of the design for cycle `now`, the next one.
	void drive(uint64_t now) {
		bool stall = random.percent(how.stall_percent);
		*req_ready = !stall && requests.size() < how.depth;
		// A write beat may come before its request: a few are held.
		*w_ready = !random.percent(how.stall_percent) && writes.size() < 4;
		bool due = !answers.empty() && answers.front().at <= now;
		bool valid = due && !answers.front().write, done = due && answers.front().write;
		*r_valid = valid;
		if (valid) {
			const unsigned beat = memory->beat;
			uint8_t *p = reinterpret_cast<uint8_t *>(r_payload);
			std::memcpy(p, answers.front().data.data(), beat);
			p[beat] = uint8_t(answers.front().error | answers.front().last << 1);
		}
		*ack_valid = done;
		if (done) *ack_payload = answers.front().error;
	}
};

} // namespace quintet
