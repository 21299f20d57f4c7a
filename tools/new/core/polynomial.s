# y = 3 x^2 + 5 x - 7 by Horner's rule: x is word 0, the coefficients follow, y is word 4.
.equ X, 0
ld 1
mul X
add 2
mul X
add 3
st 4
end
