; Product of two matrices of 256 x 256 in main memory, packed, block by block: a at 0x100000, b at 0x124000.
.program p0
.needs contexts=16
.loop l0 2
.loop l1 24
.loop l2 16
.loop l3 16
.apu a0 6400 1 100 l1:4
.apu a1 25472 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 23
.apu a2 6800 1 100 l5:400
.apu a3 25472 1 132 l0:64 l4:4
.apu a4 38144 1 132 l0:64 l5:528 l4:4
.apu a5 6804 1 100 l5:400 l6:4
.apu a6 26000 1 132 l0:64 l6:528 l3:4
.apu a7 46064 1 132 l0:64 l2:4
start_loop l0
  start_independent_loop l2
    zero ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a0, INPUT
      load a1, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a2, INPUT
      load a3, WEIGHTS
      store a4, ACC
      zero ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a5, INPUT
        load a6, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a7, ACC
  end_loop l2
end_loop l0
.program p1
.needs contexts=16
.loop l0 2
.loop l1 24
.loop l2 16
.loop l3 16
.apu a0 38144 1 132 l0:64 l2:4
.apu a1 0 1 100 l1:4
.apu a2 12800 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 23
.apu a3 400 1 100 l5:400
.apu a4 12800 1 132 l0:64 l4:4
.apu a5 38144 1 132 l0:64 l5:528 l4:4
.apu a6 38672 1 132 l0:64 l5:528 l4:4
.apu a7 404 1 100 l5:400 l6:4
.apu a8 13328 1 132 l0:64 l6:528 l3:4
.apu a9 46064 1 132 l0:64 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p2
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 38144 1 132 l0:64 l2:4
.apu a1 6400 1 68 l1:4
.apu a2 25472 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 15
.apu a3 6672 1 68 l5:272
.apu a4 25472 1 132 l0:64 l4:4
.apu a5 38144 1 132 l0:64 l5:528 l4:4
.apu a6 38672 1 132 l0:64 l5:528 l4:4
.apu a7 6676 1 68 l5:272 l6:4
.apu a8 26000 1 132 l0:64 l6:528 l3:4
.apu a9 46064 1 132 l0:64 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p3
.needs contexts=16
.loop l0 2
.loop l1 24
.loop l2 16
.loop l3 16
.apu a0 0 1 100 l1:4
.apu a1 12800 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 23
.apu a2 400 1 100 l5:400
.apu a3 12800 1 132 l0:64 l4:4
.apu a4 46592 1 132 l0:64 l5:528 l4:4
.apu a5 404 1 100 l5:400 l6:4
.apu a6 13328 1 132 l0:64 l6:528 l3:4
.apu a7 54512 1 132 l0:64 l2:4
start_loop l0
  start_independent_loop l2
    zero ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a0, INPUT
      load a1, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a2, INPUT
      load a3, WEIGHTS
      store a4, ACC
      zero ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a5, INPUT
        load a6, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a7, ACC
  end_loop l2
end_loop l0
.program p4
.needs contexts=16
.loop l0 2
.loop l1 24
.loop l2 16
.loop l3 16
.apu a0 46592 1 132 l0:64 l2:4
.apu a1 6400 1 100 l1:4
.apu a2 25472 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 23
.apu a3 6800 1 100 l5:400
.apu a4 25472 1 132 l0:64 l4:4
.apu a5 46592 1 132 l0:64 l5:528 l4:4
.apu a6 47120 1 132 l0:64 l5:528 l4:4
.apu a7 6804 1 100 l5:400 l6:4
.apu a8 26000 1 132 l0:64 l6:528 l3:4
.apu a9 54512 1 132 l0:64 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p5
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 46592 1 132 l0:64 l2:4
.apu a1 0 1 68 l1:4
.apu a2 12800 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 15
.apu a3 272 1 68 l5:272
.apu a4 12800 1 132 l0:64 l4:4
.apu a5 46592 1 132 l0:64 l5:528 l4:4
.apu a6 47120 1 132 l0:64 l5:528 l4:4
.apu a7 276 1 68 l5:272 l6:4
.apu a8 13328 1 132 l0:64 l6:528 l3:4
.apu a9 54512 1 132 l0:64 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.step p0 defer
.in packed 0x100000 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x124000 25472 96 128 pitch=576 mem_pitch=132
.step p1 prefetch defer
.in packed 0x1000d8 0 64 96 pitch=576 mem_pitch=100
.in packed 0x131800 12800 96 128 pitch=576 mem_pitch=132
.step p2 prefetch defer
.in packed 0x1001b0 6400 64 64 pitch=576 mem_pitch=68
.in packed 0x13f000 25472 64 128 pitch=576 mem_pitch=132
.out packed 0x148000 38144 21 128 pitch=576 mem_pitch=132
.step p3 prefetch defer
.in packed 0x100000 0 64 96 pitch=576 mem_pitch=100
.in packed 0x124120 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x14af40 40916 21 128 pitch=576 mem_pitch=132
.step p4 prefetch defer
.in packed 0x1000d8 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x131920 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x14de80 43688 22 128 pitch=576 mem_pitch=132
.step p5 prefetch defer
.in packed 0x1001b0 0 64 64 pitch=576 mem_pitch=68
.in packed 0x13f120 12800 64 128 pitch=576 mem_pitch=132
.out packed 0x148120 46592 21 128 pitch=576 mem_pitch=132
.step p0 prefetch defer
.in packed 0x109000 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x124000 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x14b060 49364 21 128 pitch=576 mem_pitch=132
.step p1 prefetch defer
.in packed 0x1090d8 0 64 96 pitch=576 mem_pitch=100
.in packed 0x131800 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x14dfa0 52136 22 128 pitch=576 mem_pitch=132
.step p2 prefetch defer
.in packed 0x1091b0 6400 64 64 pitch=576 mem_pitch=68
.in packed 0x13f000 25472 64 128 pitch=576 mem_pitch=132
.out packed 0x151000 38144 21 128 pitch=576 mem_pitch=132
.step p3 prefetch defer
.in packed 0x109000 0 64 96 pitch=576 mem_pitch=100
.in packed 0x124120 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x153f40 40916 21 128 pitch=576 mem_pitch=132
.step p4 prefetch defer
.in packed 0x1090d8 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x131920 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x156e80 43688 22 128 pitch=576 mem_pitch=132
.step p5 prefetch defer
.in packed 0x1091b0 0 64 64 pitch=576 mem_pitch=68
.in packed 0x13f120 12800 64 128 pitch=576 mem_pitch=132
.out packed 0x151120 46592 21 128 pitch=576 mem_pitch=132
.step p0 prefetch defer
.in packed 0x112000 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x124000 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x154060 49364 21 128 pitch=576 mem_pitch=132
.step p1 prefetch defer
.in packed 0x1120d8 0 64 96 pitch=576 mem_pitch=100
.in packed 0x131800 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x156fa0 52136 22 128 pitch=576 mem_pitch=132
.step p2 prefetch defer
.in packed 0x1121b0 6400 64 64 pitch=576 mem_pitch=68
.in packed 0x13f000 25472 64 128 pitch=576 mem_pitch=132
.out packed 0x15a000 38144 21 128 pitch=576 mem_pitch=132
.step p3 prefetch defer
.in packed 0x112000 0 64 96 pitch=576 mem_pitch=100
.in packed 0x124120 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x15cf40 40916 21 128 pitch=576 mem_pitch=132
.step p4 prefetch defer
.in packed 0x1120d8 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x131920 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x15fe80 43688 22 128 pitch=576 mem_pitch=132
.step p5 prefetch defer
.in packed 0x1121b0 0 64 64 pitch=576 mem_pitch=68
.in packed 0x13f120 12800 64 128 pitch=576 mem_pitch=132
.out packed 0x15a120 46592 21 128 pitch=576 mem_pitch=132
.step p0 prefetch defer
.in packed 0x11b000 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x124000 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x15d060 49364 21 128 pitch=576 mem_pitch=132
.step p1 prefetch defer
.in packed 0x11b0d8 0 64 96 pitch=576 mem_pitch=100
.in packed 0x131800 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x15ffa0 52136 22 128 pitch=576 mem_pitch=132
.step p2 prefetch defer
.in packed 0x11b1b0 6400 64 64 pitch=576 mem_pitch=68
.in packed 0x13f000 25472 64 128 pitch=576 mem_pitch=132
.out packed 0x163000 38144 21 128 pitch=576 mem_pitch=132
.step p3 prefetch defer
.in packed 0x11b000 0 64 96 pitch=576 mem_pitch=100
.in packed 0x124120 12800 96 128 pitch=576 mem_pitch=132
.out packed 0x165f40 40916 21 128 pitch=576 mem_pitch=132
.step p4 prefetch defer
.in packed 0x11b0d8 6400 64 96 pitch=576 mem_pitch=100
.in packed 0x131920 25472 96 128 pitch=576 mem_pitch=132
.out packed 0x168e80 43688 22 128 pitch=576 mem_pitch=132
.step p5 prefetch
.in packed 0x11b1b0 0 64 64 pitch=576 mem_pitch=68
.in packed 0x13f120 12800 64 128 pitch=576 mem_pitch=132
.out packed 0x163120 46592 64 128 pitch=576 mem_pitch=132
