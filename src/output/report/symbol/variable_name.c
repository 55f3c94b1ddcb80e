/* Names the variable, element and member at an address, "accounts[3].lock", from the debugging
 * information of its module. */
#include "output/report/symbol/elfutils_internal.h"

#include "foundation/base/clock.h"
#include "foundation/records/incident.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NESTING_MOST 16

/* ------------------------------------------------------------------ types */

/* Types of locks, whose members are not named further. Types of C++ and Rust with parameters end
 * with "<". */
static const struct lock_type {
    const char *name;
    uint32_t kind; /* kind of lock that it is, or 0 */
} lock_types[] = {
    {"sem_t", INCIDENT_SEMAPHORE},
    {"mtx_t", INCIDENT_MUTEX},
    {"cnd_t", INCIDENT_CONDITION},
    {"mutex", INCIDENT_MUTEX},
    {"timed_mutex", INCIDENT_MUTEX},
    {"recursive_mutex", INCIDENT_MUTEX},
    {"recursive_timed_mutex", INCIDENT_MUTEX},
    {"shared_mutex", INCIDENT_RWLOCK},
    {"shared_timed_mutex", INCIDENT_RWLOCK},
    {"spinlock", INCIDENT_SPIN},
    {"thread", 0},
    {"jthread", 0},
    {"thrd_t", 0},
    {"condition_variable", INCIDENT_CONDITION},
    {"condition_variable_any", INCIDENT_CONDITION},
    {"pthread_mutex_t", INCIDENT_MUTEX},
    {"pthread_rwlock_t", INCIDENT_RWLOCK},
    {"pthread_spinlock_t", INCIDENT_SPIN},
    {"pthread_cond_t", INCIDENT_CONDITION},
    {"pthread_barrier_t", INCIDENT_BARRIER},
    {"pthread_once_t", INCIDENT_ONCE},
    {"once_flag", INCIDENT_ONCE},
    {"counting_semaphore<", 0},
    {"latch", 0},
    {"barrier<", 0},
    {"atomic<", 0},
    {"atomic_flag", 0},
    {"Mutex<", 0},
    {"RwLock<", 0},
    {"ReentrantLock<", 0},
    {"ReentrantMutex<", 0},
    {"OnceLock<", 0},
    {"LazyLock<", 0},
    {"OnceCell<", 0},
    {"Once", 0},
    {"Condvar", 0},
};

static const struct lock_type *lock_type(const char *name)
{
    for (size_t i = 0; name && i < sizeof lock_types / sizeof *lock_types; i++) {
        const char *known = lock_types[i].name;
        size_t length = strlen(known);
        bool begins = strncmp(name, known, length) == 0;
        if (begins && (known[length - 1] == '<' || !name[length]))
            return &lock_types[i];
    }
    return NULL;
}

static bool is_lock_type(const char *name)
{
    return lock_type(name) || (name && strncmp(name, "pthread_", 8) == 0);
}

struct description {
    char *text;
    size_t used, size;
    uint32_t kind; /* kind of the lock, or 0 */
};

__attribute__((format(printf, 2, 3))) static void append_part(struct description *to,
                                                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(to->text + to->used, to->size - to->used, format, arguments);
    va_end(arguments);
    if (count > 0)
        to->used += (size_t)count < to->size - to->used ? (size_t)count : to->size - to->used - 1;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

/* Removes typedefs and qualifiers. False: the type is a lock, and its members are not examined. */
static bool peel_type(Dwarf_Die *type)
{
    for (unsigned depth = 0; depth < NESTING_MOST; depth++) {
        if (is_lock_type(dwarf_diename(type)))
            return false;
        switch (dwarf_tag(type)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_atomic_type:
            break;
        default:
            return true;
        }
        Dwarf_Die inner;
        if (!type_of(type, &inner))
            return false;
        *type = inner;
    }
    return false;
}

static bool member_offset(Dwarf_Die *member, Dwarf_Word *offset)
{
    Dwarf_Attribute attribute;
    *offset = 0;
    if (!dwarf_attr(member, DW_AT_data_member_location, &attribute))
        return true; /* a member of a union */
    return dwarf_formudata(&attribute, offset) == 0;
}

/* Is the type a lock of another kind than the one at the address? */
static bool is_other_lock(Dwarf_Die type, uint32_t kind)
{
    while (!lock_type(dwarf_diename(&type))) {
        Dwarf_Die inner;
        if (dwarf_tag(&type) != DW_TAG_typedef || !type_of(&type, &inner))
            return false;
        type = inner;
    }
    uint32_t its = lock_type(dwarf_diename(&type))->kind;
    return kind && its && its != kind;
}

/* Finds the member or base class at an offset. In a union, prefers the first that may be a lock of
 * this kind. */
static bool member_at(Dwarf_Die *type, Dwarf_Word offset, uint32_t kind, Dwarf_Die *found,
                      Dwarf_Word *rest)
{
    Dwarf_Die member, its_type;
    bool any = false, fits = false;
    if (dwarf_child(type, &member) != 0)
        return false;
    do {
        Dwarf_Word start, size;
        int tag = dwarf_tag(&member);
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !type_of(&member, &its_type) ||
            !member_offset(&member, &start) || dwarf_aggregate_size(&its_type, &size) != 0 ||
            offset < start || offset - start >= size)
            continue;
        fits = dwarf_tag(type) != DW_TAG_union_type || !is_other_lock(its_type, kind);
        if (!any || fits) {
            *found = member;
            *rest = offset - start;
        }
        any = true;
    } while (!fits && dwarf_siblingof(&member, &member) == 0);
    return any;
}

/* Reads the lengths of an array's dimensions and returns their number. */
static unsigned array_dimensions(Dwarf_Die *array, Dwarf_Word lengths[NESTING_MOST])
{
    unsigned count = 0;
    Dwarf_Die range;
    if (dwarf_child(array, &range) != 0)
        return 0;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Word value = 0;
        if (dwarf_tag(&range) != DW_TAG_subrange_type || count == NESTING_MOST)
            continue;
        if (dwarf_formudata(dwarf_attr(&range, DW_AT_count, &attribute), &value) != 0 &&
            dwarf_formudata(dwarf_attr(&range, DW_AT_upper_bound, &attribute), &value) == 0)
            value++;
        lengths[count++] = value;
    } while (dwarf_siblingof(&range, &range) == 0);
    return count;
}

/* Appends the indices of the element. False: they cannot be determined. */
static bool element_at(Dwarf_Die *array, Dwarf_Word *offset, Dwarf_Die *element,
                       struct description *to)
{
    Dwarf_Word size, lengths[NESTING_MOST];
    if (!type_of(array, element) || dwarf_aggregate_size(element, &size) != 0 || size == 0)
        return false;
    unsigned count = array_dimensions(array, lengths);
    Dwarf_Word index = *offset / size;
    *offset %= size;
    for (unsigned i = 0; i < count; i++) {
        Dwarf_Word stride = 1;
        for (unsigned k = i + 1; k < count; k++)
            stride *= lengths[k] ? lengths[k] : 1;
        append_part(to, "[%llu]", (unsigned long long)(index / stride));
        index %= stride;
    }
    return count > 0;
}

/* Describes the path from a type to the lock at the offset. */
static void describe_type(Dwarf_Die type, Dwarf_Word offset, struct description *to)
{
    for (unsigned depth = 0; depth < NESTING_MOST && peel_type(&type); depth++) {
        Dwarf_Die inner, inner_type;
        int tag = dwarf_tag(&type);
        if (tag == DW_TAG_array_type) {
            if (!element_at(&type, &offset, &inner, to))
                break;
            type = inner;
        } else if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
                   tag == DW_TAG_union_type) {
            if (!member_at(&type, offset, to->kind, &inner, &offset) ||
                !type_of(&inner, &inner_type))
                break;
            const char *name = dwarf_tag(&inner) == DW_TAG_member ? dwarf_diename(&inner) : NULL;
            if (name)
                append_part(to, ".%s", name);
            type = inner_type;
        } else {
            break;
        }
    }
    if (offset && !is_lock_type(dwarf_diename(&type)))
        append_part(to, "+0x%llx", (unsigned long long)offset);
}

/* ------------------------------------------------------------------ search */

struct search {
    Dwarf_Addr wanted; /* address in the debugging information */
    uint64_t until;    /* time limit */
    unsigned seen;
    Dwarf_Die variable;
    Dwarf_Addr start;
};

/* Is the variable at a fixed address, and does it contain the wanted one? */
static bool covers_address(struct search *search, Dwarf_Die *variable)
{
    Dwarf_Attribute location, operand;
    Dwarf_Op *operations;
    size_t count;
    Dwarf_Die type;
    Dwarf_Word size;
    Dwarf_Addr start;
    if (!dwarf_attr(variable, DW_AT_location, &location) ||
        dwarf_getlocation(&location, &operations, &count) != 0 || count != 1)
        return false;
    if (operations[0].atom == DW_OP_addr)
        start = operations[0].number;
    else if (operations[0].atom != DW_OP_addrx ||
             dwarf_getlocation_attr(&location, operations, &operand) != 0 ||
             dwarf_formaddr(&operand, &start) != 0)
        return false;
    if (start > search->wanted || !type_of(variable, &type) ||
        dwarf_aggregate_size(&type, &size) != 0 || search->wanted - start >= size)
        return false;
    search->start = start;
    return true;
}

/* Searches the variables of a file, a namespace or a function. */
static bool search_variables(struct search *search, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth == NESTING_MOST || dwarf_child(parent, &die) != 0)
        return false;
    do {
        if (++search->seen % 1024 == 0 && clock_ns() > search->until)
            return false;
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
            if (!covers_address(search, &die))
                break;
            search->variable = die;
            return true;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
            if (search_variables(search, &die, depth + 1))
                return true;
            break;
        default:
            break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

static bool find_variable(struct search *search, Dwfl_Module *module)
{
    Dwarf_Addr bias;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));) {
        if (clock_ns() > search->until)
            return false;
        if (search_variables(search, unit, 0))
            return true;
    }
    return false;
}

bool symbols_variable(struct symbols *symbols, Dwfl_Module *module, uint64_t address, uint32_t kind,
                      char *name, size_t size)
{
    Dwarf_Addr bias;
    uint64_t start = clock_ns();
    if (!symbols->variable_patience_ns || !dwfl_module_getdwarf(module, &bias))
        return false;
    struct search search = {.wanted = address - bias,
                            .until = start + symbols->variable_patience_ns};
    bool found = find_variable(&search, module);
    uint64_t spent = clock_ns() - start;
    symbols->variable_patience_ns -=
        spent < symbols->variable_patience_ns ? spent : symbols->variable_patience_ns;
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    const char *variable =
        found ? dwarf_formstring(dwarf_attr_integrate(&search.variable, DW_AT_name, &attribute))
              : NULL;
    if (!variable || !type_of(&search.variable, &type))
        return false;
    struct description to = {name, 0, size, kind};
    append_part(&to, "%s", variable);
    describe_type(type, search.wanted - search.start, &to);
    return true;
}
