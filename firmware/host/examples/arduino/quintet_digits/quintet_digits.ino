// SPDX-License-Identifier: BSD-2-Clause
//
// A microcontroller that has a quintet board recognise digits, over a hardware serial port.
//
// Put quintet.h, quintet.c and digits.h (quintet export --c PLAN --library) beside this sketch.
// Connect TX and RX of Serial1 to the board's UART (3.3 V), and the grounds. Set BAUD to the rate
// that the board was built for; `quintet boards` lists it.
//
// The microcontroller needs flash for the network's program and weights, or a board that already
// holds them: then define QUINTET_RESIDENT here and call quintet_assume_loaded().
#define QUINTET_CHUNK 64
#include "quintet.h"
#include "digits.h"

static const unsigned long BAUD = 115200;

static int portWrite(void *, const uint8_t *data, size_t size) {
  return Serial1.write(data, size) == size ? 0 : -1;
}

static int portRead(void *, uint8_t *data, size_t size, uint32_t timeout) {
  uint32_t began = millis();
  while (!Serial1.available()) {
    if (millis() - began >= timeout) return 0;
  }
  size_t got = 0;
  while (got < size && Serial1.available()) data[got++] = (uint8_t)Serial1.read();
  return (int)got;
}

static uint32_t portNow(void *) { return millis(); }

static struct quintet board;

static bool check(const char *what, enum quintet_status status) {
  if (status == QUINTET_OK) return true;
  Serial.print(what);
  Serial.print(": ");
  Serial.println(quintet_status_text(status));
  return false;
}

void setup() {
  Serial.begin(115200);
  Serial1.begin(BAUD);
  const struct quintet_port port = {portWrite, portRead, portNow, nullptr};
  quintet_init(&board, &port);
  board.bytes_per_second = BAUD / 10;
}

// Replace by what your sensor sees: 8 x 8 pixels, 0 (white) to 16 (black).
static void takePicture(float *pixels) {
  for (int i = 0; i < 64; i++) pixels[i] = (i % 8 == 3 || i % 8 == 4) ? 16.0f : 0.0f;
}

void loop() {
  float pixels[64], scores[10];
  int32_t numbers[64], results[10];  // room for numbers of any type
  const void *inputs[] = {numbers};
  void *outputs[] = {results};

  if (board.loaded != &digits && !check("load", quintet_load(&board, &digits))) {
    delay(1000);
    return;
  }
  takePicture(pixels);
  quintet_quantise(&digits.inputs[0], pixels, numbers);
  if (check("infer", quintet_infer(&board, &digits, inputs, outputs, 1000))) {
    quintet_dequantise(&digits.outputs[0], results, scores);
    int best = 0;
    for (int i = 1; i < 10; i++) {
      if (scores[i] > scores[best]) best = i;
    }
    Serial.println(best);
  }
  delay(500);
}
