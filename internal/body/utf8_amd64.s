#include "textflag.h"

// Two bytes in a row are wrong in UTF-8 in eight ways. Each way is a bit, set in the entry of the high half of the first byte, of
// the low half of the first byte and of the high half of the second byte, where these allow it:
//
//	0x01 a lead byte without a continuation     0x02 a continuation behind ASCII
//	0x04 a character of 3 bytes that needs 2    0x08 a character above U+10FFFF
//	0x10 a surrogate                            0x20 a character of 2 bytes that needs 1
//	0x40 a character of 4 bytes that needs 3, or one above U+13FFFF
//	0x80 two continuations: right only as bytes 2 and 3, or 3 and 4
DATA firstHigh<>+0(SB)/8, $0x0202020202020202
DATA firstHigh<>+8(SB)/8, $0x4915012180808080
GLOBL firstHigh<>(SB), RODATA|NOPTR, $16

DATA firstLow<>+0(SB)/8, $0xcbcbcb8b8383a3e7
DATA firstLow<>+8(SB)/8, $0xcbcbdbcbcbcbcbcb
GLOBL firstLow<>(SB), RODATA|NOPTR, $16

DATA secondHigh<>+0(SB)/8, $0x0101010101010101
DATA secondHigh<>+8(SB)/8, $0x01010101babaaee6
GLOBL secondHigh<>(SB), RODATA|NOPTR, $16

// EVERY makes a vector of one byte.
#define EVERY(byte, low, vector) \
	MOVQ         $byte, AX \
	VMOVQ        AX, low   \
	VPBROADCASTB low, vector

// HALF looks up the high halves of bytes in a table.
#define HALF(bytes, table, found) \
	VPSRLW  $4, bytes, found \
	VPAND   Y0, found, found \
	VPSHUFB found, table, found

// func validAVX2(text *byte, n int) bool
//
// Registers: SI text, CX n, DI offset, R8 the bytes of the last vector that are not ASCII, Y7 all faults, Y8 the last vector, Y9 this one.
TEXT ·validAVX2(SB), NOSPLIT, $0-17
	MOVQ text+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ DI, DI
	XORQ R8, R8
	EVERY(0x0f, X0, Y0)
	EVERY(0x60, X4, Y4) // a lead byte of 3 or more is at least 0x80 above
	EVERY(0x70, X5, Y5) // a lead byte of 4 is at least 0x80 above
	EVERY(0x80, X6, Y6)
	VBROADCASTI128 firstHigh<>(SB), Y1
	VBROADCASTI128 firstLow<>(SB), Y2
	VBROADCASTI128 secondHigh<>(SB), Y3
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8

vector:
	LEAQ 32(DI), AX
	CMPQ AX, CX
	JGT  done
	VMOVDQU   (SI)(DI*1), Y9
	VPMOVMSKB Y9, AX
	MOVL R8, DX
	SHRL $29, DX
	MOVL AX, R8
	ORL  AX, DX
	JZ   next // ASCII, and no character is left open

	VPERM2I128 $0x21, Y9, Y8, Y10
	VPALIGNR   $15, Y10, Y9, Y11 // the byte before each byte
	HALF(Y11, Y1, Y12)
	VPAND   Y0, Y11, Y11
	VPSHUFB Y11, Y2, Y11
	VPAND   Y11, Y12, Y12
	HALF(Y9, Y3, Y11)
	VPAND   Y11, Y12, Y12

	// Bytes 3 and 4 of a character must be the second of two continuations, and no others may be.
	VPALIGNR $14, Y10, Y9, Y11
	VPSUBUSB Y4, Y11, Y11
	VPALIGNR $13, Y10, Y9, Y13
	VPSUBUSB Y5, Y13, Y13
	VPOR     Y11, Y13, Y11
	VPAND    Y6, Y11, Y11
	VPXOR    Y11, Y12, Y12
	VPOR     Y12, Y7, Y7

next:
	VMOVDQA Y9, Y8
	ADDQ    $32, DI
	JMP     vector

done:
	VPTEST Y7, Y7
	SETEQ  ret+16(FP)
	VZEROUPPER
	RET
