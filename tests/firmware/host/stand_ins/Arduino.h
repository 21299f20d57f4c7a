// SPDX-License-Identifier: BSD-2-Clause
// Declarations of what the sketch uses, after Arduino's documentation: it compiles against them.
#include <stddef.h>
#include <stdint.h>

struct Stream {
  void begin(unsigned long baud);
  int available();
  int read();
  size_t write(const uint8_t *data, size_t size);
  size_t print(const char *text);
  size_t println(const char *text);
  size_t println(int number);
};
extern Stream Serial, Serial1;
unsigned long millis();
void delay(unsigned long milliseconds);
