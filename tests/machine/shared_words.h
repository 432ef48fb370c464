// Small programs for lanes that share one memory, as words. x0 is where they work, x1 how often.
#pragma once

#include "words.h"

namespace kvrm::test {

// Adds one to the counter at x0, x1 times.
inline const Words kAddLdadd = {
    0xd2800022,  // mov x2, #0x1
    0xf8220003,  // ldadd x2, x3, [x0]
    0xf1000421,  // subs x1, x1, #0x1
    0x54ffffc1,  // b.ne -2 words
    0xd4400000,  // hlt #0x0
};

// The same with exclusives.
inline const Words kAddExclusive = {
    0xc85f7c02,  // ldxr x2, [x0]
    0x91000442,  // add x2, x2, #0x1
    0xc8037c02,  // stxr w3, x2, [x0]
    0x35ffffa3,  // cbnz w3, -3 words
    0xf1000421,  // subs x1, x1, #0x1
    0x54ffff61,  // b.ne -5 words
    0xd4400000,  // hlt #0x0
};

// Adds one to the counter at x0 + 64 while it holds the lock at x0, x1 times.
inline const Words kLockExclusive = {
    0x52800023,  // mov w3, #0x1
    0x885ffc02,  // ldaxr w2, [x0]
    0x35ffffe2,  // cbnz w2, -1 words
    0x88047c03,  // stxr w4, w3, [x0]
    0x35ffffa4,  // cbnz w4, -3 words
    0xf9402005,  // ldr x5, [x0, #64]
    0x910004a5,  // add x5, x5, #0x1
    0xf9002005,  // str x5, [x0, #64]
    0x885f7c02,  // ldxr w2, [x0]
    0x8804fc1f,  // stlxr w4, wzr, [x0]
    0x35ffffc4,  // cbnz w4, -2 words
    0xf1000421,  // subs x1, x1, #0x1
    0x54fffea1,  // b.ne -11 words
    0xd4400000,  // hlt #0x0
};

inline const Words kLockCas = {
    0x52800023,  // mov w3, #0x1
    0x52800002,  // mov w2, #0x0
    0x88e27c03,  // casa w2, w3, [x0]
    0x35ffffc2,  // cbnz w2, -2 words
    0xf9402005,  // ldr x5, [x0, #64]
    0x910004a5,  // add x5, x5, #0x1
    0xf9002005,  // str x5, [x0, #64]
    0x889ffc1f,  // stlr wzr, [x0]
    0xf1000421,  // subs x1, x1, #0x1
    0x54ffff01,  // b.ne -8 words
    0xd4400000,  // hlt #0x0
};

inline const Words kLockSwap = {
    0x52800023,  // mov w3, #0x1
    0xb8a38002,  // swpa w3, w2, [x0]
    0x35ffffe2,  // cbnz w2, -1 words
    0xf9402005,  // ldr x5, [x0, #64]
    0x910004a5,  // add x5, x5, #0x1
    0xf9002005,  // str x5, [x0, #64]
    0x889ffc1f,  // stlr wzr, [x0]
    0xf1000421,  // subs x1, x1, #0x1
    0x54ffff21,  // b.ne -7 words
    0xd4400000,  // hlt #0x0
};

// Adds one and three to the pair at x0 at once, x1 times.
inline const Words kPairCasp = {
    0xa9400c02,  // ldp x2, x3, [x0]
    0xaa0203e6,  // mov x6, x2
    0xaa0303e7,  // mov x7, x3
    0x91000444,  // add x4, x2, #0x1
    0x91000c65,  // add x5, x3, #0x3
    0x4862fc04,  // caspal x2, x3, x4, x5, [x0]
    0xeb06005f,  // cmp x2, x6
    0xfa470060,  // ccmp x3, x7, #0x0, eq
    0x54ffff01,  // b.ne -8 words
    0xf1000421,  // subs x1, x1, #0x1
    0x54fffec1,  // b.ne -10 words
    0xd4400000,  // hlt #0x0
};

inline const Words kPairExclusive = {
    0xc87f8c02,  // ldaxp x2, x3, [x0]
    0x91000442,  // add x2, x2, #0x1
    0x91000c63,  // add x3, x3, #0x3
    0xc8248c02,  // stlxp w4, x2, x3, [x0]
    0x35ffff84,  // cbnz w4, -4 words
    0xf1000421,  // subs x1, x1, #0x1
    0x54ffff41,  // b.ne -6 words
    0xd4400000,  // hlt #0x0
};

// Waits for a word at x0, then reads what was written before it.
inline const Words kListen = {
    0xf9400002,  // ldr x2, [x0]
    0xb4ffffe2,  // cbz x2, -1 words
    0xd50339bf,  // dmb ishld
    0xf9402003,  // ldr x3, [x0, #64]
    0xd4400000,  // hlt #0x0
};

// Counts x1 down, then writes x4 at x0 + 64 and at x0.
inline const Words kTell = {
    0xf1000421,  // subs x1, x1, #0x1
    0x54ffffe1,  // b.ne -1 words
    0xf9002004,  // str x4, [x0, #64]
    0xd5033abf,  // dmb ishst
    0xf9000004,  // str x4, [x0]
    0xd4400000,  // hlt #0x0
};

// Each round two lanes synchronize at x5, write one of two words and read the other: not both may find nothing there.
inline const Words kStoreBuffer = {
    0xd2800022,  // mov x2, #0x1
    0xf8e200a3,  // ldaddal x2, x3, [x5]
    0xc8dffca3,  // ldar x3, [x5]
    0xf100087f,  // cmp x3, #0x2
    0x54ffffc3,  // b.cc -2 words
    0xf90000c2,  // str x2, [x6]
    0xd5033bbf,  // dmb ish
    0xf94000e4,  // ldr x4, [x7]
    0xf8008504,  // str x4, [x8], #8
    0x910100a5,  // add x5, x5, #0x40
    0x910100c6,  // add x6, x6, #0x40
    0x910100e7,  // add x7, x7, #0x40
    0xf1000421,  // subs x1, x1, #0x1
    0x54fffe61,  // b.ne -13 words
    0xd4400000,  // hlt #0x0
};

inline const Words kStoreBufferOrdered = {
    0xd2800022,  // mov x2, #0x1
    0xf8e200a3,  // ldaddal x2, x3, [x5]
    0xc8dffca3,  // ldar x3, [x5]
    0xf100087f,  // cmp x3, #0x2
    0x54ffffc3,  // b.cc -2 words
    0xc89ffcc2,  // stlr x2, [x6]
    0xc8dffce4,  // ldar x4, [x7]
    0xf8008504,  // str x4, [x8], #8
    0x910100a5,  // add x5, x5, #0x40
    0x910100c6,  // add x6, x6, #0x40
    0x910100e7,  // add x7, x7, #0x40
    0xf1000421,  // subs x1, x1, #0x1
    0x54fffe81,  // b.ne -12 words
    0xd4400000,  // hlt #0x0
};

// Waits for a word at x0, then runs the word after the ISB, which another lane has replaced.
inline const Words kPatched = {
    0xc8dffc02,  // ldar x2, [x0]
    0xb4ffffe2,  // cbz x2, -1 words
    0xd5033fdf,  // isb
    0xd2800023,  // mov x3, #0x1
    0xd4400000,  // hlt #0x0
};

// Writes the word w4 to x5, then the word at x0.
inline const Words kPatch = {
    0xb90000a4,  // str w4, [x5]
    0xd5033b9f,  // dsb ish
    0xc89ffc05,  // stlr x5, [x0]
    0xd4400000,  // hlt #0x0
};

}  // namespace kvrm::test
