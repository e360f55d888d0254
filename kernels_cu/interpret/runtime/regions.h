// The memory of a launch's operands, in the child and in place.
#pragma once

#include "control.h"

namespace paged_interpret {

// The tables of a launch, as mapped in this process.
struct Tables {
    Control* control;
    Region* regions;
    Operand* operands;
    ArgumentBytes* arguments;
    char* base;  // of the arena
};

Tables tables_of(char* base);
// Maps each region between unreadable pages, poisons what starts undefined and the rest of its
// pages, puts addresses into the arguments, and makes inputs read-only. Returns false where memory
// is short.
bool enter_regions(const Tables& tables, int arena);
// Reports a write that missed its operand but not the operand's pages.
void report_stray_write(const Tables& tables);
// Fills the elements of a tensor.
void poison_operand(const Operand& operand, char* base, unsigned poison);

}  // namespace paged_interpret
