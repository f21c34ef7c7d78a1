#include "textflag.h"

// Escapes of two bytes are ", \, /, b, f, n, r and t behind a backslash. A byte is one of these where the entries of its low and of
// its high half share a bit: bit 0 stands for high half 2, bit 1 for 5, bit 2 for 6, bit 3 for 7.
DATA lowHalves<>+0(SB)/8, $0x00040008000d0000
DATA lowHalves<>+8(SB)/8, $0x0104000200000000
GLOBL lowHalves<>(SB), RODATA|NOPTR, $16

DATA highHalves<>+0(SB)/8, $0x0804020000010000
DATA highHalves<>+8(SB)/8, $0
GLOBL highHalves<>(SB), RODATA|NOPTR, $16

// MASK sets the bits of mask where the bytes of the low and high vector are 0xff.
#define MASK(low, high, mask, spare) \
	VPMOVMSKB low, mask  \
	VPMOVMSKB high, spare \
	SHLQ      $32, spare \
	ORQ       spare, mask

// func blocksAVX2(text *byte, n int) (at int, backslashes, high uint64)
//
// Registers: SI text, CX n, DI offset of the block, R8 1 if the first byte of the block is escaped, R9 all backslashes, Y14 all bytes.
TEXT ·blocksAVX2(SB), NOSPLIT, $0-40
	MOVQ text+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ DI, DI
	XORQ R8, R8
	XORQ R9, R9

	MOVQ         $0x2222222222222222, AX // quotes
	VMOVQ        AX, X0
	VPBROADCASTQ X0, Y0
	MOVQ         $0x5c5c5c5c5c5c5c5c, AX // backslashes
	VMOVQ        AX, X1
	VPBROADCASTQ X1, Y1
	MOVQ         $0x1f1f1f1f1f1f1f1f, AX // the last control character
	VMOVQ        AX, X2
	VPBROADCASTQ X2, Y2
	MOVQ         $0x0f0f0f0f0f0f0f0f, AX // half a byte
	VMOVQ        AX, X3
	VPBROADCASTQ X3, Y3
	VBROADCASTI128 lowHalves<>(SB), Y4
	VBROADCASTI128 highHalves<>(SB), Y5
	MOVQ         $0xaaaaaaaaaaaaaaaa, R13
	VPXOR        Y14, Y14, Y14
	VPXOR        Y15, Y15, Y15

block:
	LEAQ 64(DI), AX
	CMPQ AX, CX
	JGT  rest
	VMOVDQU (SI)(DI*1), Y6
	VMOVDQU 32(SI)(DI*1), Y7
	VPOR    Y6, Y14, Y14
	VPOR    Y7, Y14, Y14

	VPCMPEQB Y0, Y6, Y8
	VPCMPEQB Y0, Y7, Y9
	MASK(Y8, Y9, R10, AX)

	VPMINUB  Y2, Y6, Y8
	VPMINUB  Y2, Y7, Y9
	VPCMPEQB Y8, Y6, Y8
	VPCMPEQB Y9, Y7, Y9
	MASK(Y8, Y9, R11, AX)

	VPCMPEQB Y1, Y6, Y8
	VPCMPEQB Y1, Y7, Y9
	MASK(Y8, Y9, R12, AX)

	MOVQ R12, AX
	ORQ  R8, AX
	JNZ  escapes

	ORQ  R11, R10
	JNZ  found
	ADDQ $64, DI
	JMP  block

escapes:
	// A backslash escapes the next byte unless the backslash is escaped itself. Subtraction finds the backslashes at odd places of a
	// run: its borrow passes over a run, and the alternating bits tell odd from even starts.
	MOVQ R8, AX
	NOTQ AX
	ANDQ R12, AX           // AX: backslashes that may escape
	LEAQ (AX)(AX*1), BX
	ORQ  R13, BX
	SUBQ AX, BX
	XORQ R13, BX           // BX: escaping backslashes and the bytes behind runs
	MOVQ R12, AX
	ORQ  R8, AX
	XORQ BX, AX            // AX: escaped bytes
	ANDQ R12, BX
	SHRQ $63, BX
	MOVQ BX, R8

	VPAND    Y3, Y6, Y8
	VPSHUFB  Y8, Y4, Y8
	VPSRLW   $4, Y6, Y9
	VPAND    Y3, Y9, Y9
	VPSHUFB  Y9, Y5, Y9
	VPAND    Y8, Y9, Y8
	VPCMPEQB Y15, Y8, Y8
	VPAND    Y3, Y7, Y9
	VPSHUFB  Y9, Y4, Y9
	VPSRLW   $4, Y7, Y10
	VPAND    Y3, Y10, Y10
	VPSHUFB  Y10, Y5, Y10
	VPAND    Y9, Y10, Y9
	VPCMPEQB Y15, Y9, Y9
	MASK(Y8, Y9, BX, DX)   // BX: bytes that make no short escape

	ANDQ AX, BX
	ORQ  R11, BX
	MOVQ AX, DX
	NOTQ DX
	ANDQ R10, DX
	ORQ  DX, BX
	JNZ  judge
	ORQ  R12, R9
	ADDQ $64, DI
	JMP  block

judge:
	// The first byte to stop at; if it is escaped, the backslash before it.
	TZCNTQ BX, DX
	BZHIQ  DX, R12, R12
	ORQ    R12, R9
	BTQ    DX, AX
	SBBQ   $0, DX
	ADDQ   DX, DI
	JMP    done

found:
	TZCNTQ R10, DX
	ADDQ   DX, DI
	JMP    done

rest:
	SUBQ R8, DI // a backslash at the end of the last block, with what it escapes

done:
	VPMOVMSKB Y14, AX
	VZEROUPPER
	MOVQ DI, at+16(FP)
	MOVQ R9, backslashes+24(FP)
	MOVQ AX, high+32(FP)
	RET
