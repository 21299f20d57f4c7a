// SPDX-License-Identifier: BSD-2-Clause
// Harness for a core: its control block on Wishbone, and a model of main memory behind each of its ports.
#include "design.cc"
#include "memory_model.hpp"
#include "ports.hpp"

using namespace quintet;

struct Bench : Simulation {
	Memory memory;
	std::vector<PortModel> models;
	uint32_t *busy, *core_reset;
	uint32_t *cyc, *stb, *we, *adr, *sel, *dat_w, *dat_r, *ack;

	uint32_t *port(const std::string &name) {
		for (const Port *p = quintet_ports; p->name; p++)
			if (name == p->name) return p->where(top);
		static uint32_t nothing[64];
		return nothing;
	}

	bool has(const std::string &name) {
		for (const Port *p = quintet_ports; p->name; p++)
			if (name == p->name) return true;
		return false;
	}

	Bench() {
		busy = port("busy"), core_reset = port("core_reset");
		cyc = port("bus__cyc"), stb = port("bus__stb"), we = port("bus__we"), adr = port("bus__adr");
		sel = port("bus__sel"), dat_w = port("bus__dat_w"), dat_r = port("bus__dat_r"), ack = port("bus__ack");
		for (int i = 0; has("memory__" + std::to_string(i) + "__req__valid"); i++) {
			std::string base = "memory__" + std::to_string(i) + "__";
			PortModel m;
			m.index = i;
			m.req_valid = port(base + "req__valid"), m.req_ready = port(base + "req__ready");
			m.req_payload = port(base + "req__payload");
			m.w_valid = port(base + "w__valid"), m.w_ready = port(base + "w__ready"), m.w_payload = port(base + "w__payload");
			m.r_valid = port(base + "r__valid"), m.r_ready = port(base + "r__ready"), m.r_payload = port(base + "r__payload");
			m.ack_valid = port(base + "ack__valid"), m.ack_ready = port(base + "ack__ready");
			m.ack_payload = port(base + "ack__payload");
			models.push_back(std::move(m));
		}
		for (auto &m : models) m.memory = &memory;
		*sel = 15;
	}

	template <typename F> void cycle_with(F &&look) {
		tick([&] {
			look();
			bool dropped = *core_reset & 1;
			for (auto &m : models) {
				if (dropped) { m.drop(); continue; }
				std::string broken = m.observe(cycle);
				if (!broken.empty()) fail(broken);
			}
		});
		for (auto &m : models) m.drive(cycle);
	}

	void cycle_once() { cycle_with([] {}); }

	// Low 32 bits: the value read. Bit 32: nobody answered.
	uint64_t access(uint32_t offset, bool write, uint32_t value) {
		*cyc = *stb = 1, *we = write, *adr = offset / 4, *dat_w = value;
		uint64_t result = uint64_t(1) << 32;
		bool done = false;
		for (int patience = 0; patience < 100000 && !done && error.empty(); patience++)
			cycle_with([&] {
				done = *ack & 1;
				if (done) result = *dat_r;
			});
		*cyc = *stb = 0;
		cycle_once();
		return result;
	}

	bool is_busy() {
#if !QUINTET_ONE_PASS
		settle();
#else
		// `busy` of the last cycle: one cycle late, which only costs a cycle.
#endif
		return *busy & 1;
	}

	// Until the core is idle; 0: idle, 1: `limit` cycles passed, 2: a rule was broken.
	int run(uint64_t limit) {
		cycle_once();
		while (limit-- && error.empty()) {
			if (!is_busy()) return 0;
			cycle_once();
		}
		return !error.empty() ? 2 : is_busy() ? 1 : 0;
	}
};

#define HARNESS Bench
#include "exports.hpp"

extern "C" {

void quintet_step(Bench *h, uint64_t count) {
	h->enter();
	while (count-- && h->error.empty()) h->cycle_once();
}

int bench_ports(Bench *h) { return int(h->models.size()); }

void bench_memory(Bench *h, uint8_t *data, uint64_t size, uint32_t beat) {
	h->memory.data = data, h->memory.size = size, h->memory.beat = beat;
}

void bench_window(Bench *h, uint64_t base, uint64_t limit) {
	h->memory.window_base = base, h->memory.window_limit = limit;
}

// port -1: all, each with a stream of random numbers of its own.
void bench_behave(Bench *h, int port, uint64_t seed, const Behaviour *how) {
	for (auto &m : h->models)
		if (port < 0 || port == m.index) {
			m.how = *how;
			m.wait = 0;
			m.random.seed(seed * 64 + m.index + 1);
			m.drive(h->cycle);
		}
}

void bench_inject(Bench *h, const Injection *i) { h->memory.injections.push_back(*i); }
void bench_clear_injections(Bench *h) { h->memory.injections.clear(); }

uint64_t bench_access(Bench *h, uint32_t offset, int write, uint32_t value) { return h->enter(), h->access(offset, write, value); }
int bench_run(Bench *h, uint64_t limit) { return h->enter(), h->run(limit); }

// 1: nothing is owed on any port.
int bench_idle(Bench *h) {
	for (auto &m : h->models)
		if (!m.idle()) return 0;
	return 1;
}

// read requests, write requests, read beats, write beats of one port since the last call
void bench_traffic(Bench *h, int port, uint64_t *totals) {
	PortModel &m = h->models[port];
	totals[0] = m.read_requests, totals[1] = m.write_requests, totals[2] = m.read_beats, totals[3] = m.write_beats;
	m.read_requests = m.write_requests = m.read_beats = m.write_beats = 0;
}

} // extern "C"
