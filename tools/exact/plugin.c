// plugin.c - counts, inside QEMU, who executes which instructions.
//
// A plugin is called for each block of instructions that QEMU translates, and may ask to
// be called whenever that block runs. What it must know besides is which process runs. In
// QEMU 7.2 a plugin reads no registers and no memory, so it watches two instructions:
//
// - The kernel's switch from one task to another loads the stack pointer of the next one
//   from its task structure. The address of that load names the task.
// - A task says what it is by a mark, an instruction that does nothing (guest/guest.h).
//   One that runs in user mode and has said nothing is a thread or a child of the program
//   that was started last: a worker of the server, for instance.
//
//   -plugin FILE,out=OUTPUT[,detail=on][,softirq=FIRST-END][,exit=EXIT-DEAD]
//
// OUTPUT gets, for each window between two marks, a line for each role,
//
//     window ROLE USER KERNEL
//
// with the instructions executed in user mode and in the kernel, and with detail a line for
// each block of code that ran, with the executed instructions, before those:
//
//     block ROLE SOFTIRQ ADDRESS INSTRUCTIONS
//
// SOFTIRQ is 1 for what ran inside the kernel function at the addresses FIRST to END (in
// hexadecimal), the one that handles soft interrupts: on the loopback interface, that is
// the work of the receiver, which the kernel does as soon as the sender has sent. A worker
// of the server that reaches the address EXIT (of do_exit) is `ending` until it reaches DEAD.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------ QEMU's interface
//
// Debian ships no header for it. These are the parts that all versions since 7.0 have
// alike (docs/devel/tcg-plugins.rst and include/qemu/qemu-plugin.h of QEMU).

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS = 0, QEMU_PLUGIN_MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
                                           void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *),
                                          int flags, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *),
                                            int flags, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
                                      void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *),
                                      int flags, int rw, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
#if QEMU_PLUGIN_VERSION < 3
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);
#endif

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

// ------------------------------------------------------------ what is counted

enum role { NOBODY, OTHER, SERVER, REDIS, LOAD, HOLDER, WORKER, ENDING, ROLES };
static const char *const role_names[ROLES] = {
    "nobody", "other", "server", "redis", "load", "holder", "worker", "ending"};
enum mark { MARK_BEGIN = 16, MARK_END, MARK_LOAD_ENDED, MARK_SERVER_ENDED };

// Addresses from here on are the kernel's.
static const uint64_t KERNEL = UINT64_C(1) << 63;

struct block {
    struct block *next;
    uint64_t address;
    uint32_t instructions;
    uint64_t runs[ROLES][2]; // [1]: inside a soft interrupt
};

struct task {
    struct task *next;
    uint64_t address;
    enum role role;
};

enum { BUCKETS = 1 << 16 };
static struct block *blocks[BUCKETS];
static struct task *tasks[BUCKETS];

static FILE *output;
static bool detail;
static enum role started;   // the program that was started last: the server, or Redis
static bool window;         // between MARK_BEGIN and MARK_END
static uint64_t softirq_first, softirq_end, exit_begins, exit_ends;
static bool softirq;        // inside that function. It never sleeps, so no task leaves it.
static struct task nowhere; // before the first switch
static struct task *current = &nowhere;

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        fputs("plugin.c: out of memory\n", stderr);
        abort();
    }
    return memory;
}

static size_t bucket_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 48) % BUCKETS;
}

// QEMU translates a block again when a timer is due inside it: then with fewer
// instructions, and as a block of its own here.
static struct block *block_at(uint64_t address, uint32_t instructions)
{
    struct block **list = &blocks[bucket_of(address)];
    for (struct block *block = *list; block; block = block->next)
        if (block->address == address && block->instructions == instructions)
            return block;
    struct block *block = allocate(sizeof *block);
    *block = (struct block){.next = *list, .address = address, .instructions = instructions};
    *list = block;
    return block;
}

static struct task *task_at(uint64_t address)
{
    struct task **list = &tasks[bucket_of(address)];
    for (struct task *task = *list; task; task = task->next)
        if (task->address == address)
            return task;
    struct task *task = allocate(sizeof *task);
    *task = (struct task){.next = *list, .address = address};
    *list = task;
    return task;
}

// The kernel uses the structure of a task that has ended for another one.
static void forget(enum role role)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct task **link = &tasks[i]; *link;) {
            struct task *task = *link;
            if (task->role == role && task != current) {
                *link = task->next;
                free(task);
            } else {
                link = &task->next;
            }
        }
}

static void begin(void)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct block *block = blocks[i]; block; block = block->next)
            memset(block->runs, 0, sizeof block->runs);
    window = true;
}

static void end(void)
{
    uint64_t user[ROLES] = {0}, kernel[ROLES] = {0};
    window = false;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct block *block = blocks[i]; block; block = block->next)
            for (int k = 0; k < 2 * ROLES; k++) {
                int role = k / 2, inside = k % 2;
                uint64_t executed = block->runs[role][inside] * block->instructions;
                *(block->address >= KERNEL ? &kernel[role] : &user[role]) += executed;
                if (executed && detail)
                    fprintf(output, "block %s %d %" PRIx64 " %" PRIu64 "\n", role_names[role],
                            inside, block->address, executed);
            }
    for (int role = 0; role < ROLES; role++)
        fprintf(output, "window %s %" PRIu64 " %" PRIu64 "\n", role_names[role], user[role],
                kernel[role]);
    fflush(output);
}

// ------------------------------------------------------------ what QEMU calls

static void on_block(unsigned cpu, void *data)
{
    (void)cpu;
    struct block *block = data;
    // Tasks of the kernel never run in user mode, so they stay nobody's.
    if (current->role == NOBODY && block->address < KERNEL)
        current->role = started == SERVER ? WORKER : started;
    if (window)
        block->runs[current->role][softirq]++;
}

static void on_softirq(unsigned cpu, void *inside)
{
    (void)cpu;
    softirq = inside != NULL;
}

// The kernel uses the structure of a worker that is dead for the next one.
static void on_exit_of_task(unsigned cpu, void *begins)
{
    (void)cpu;
    if (begins && current->role == WORKER)
        current->role = ENDING;
    else if (!begins && current->role == ENDING)
        current->role = WORKER;
}

static void on_switch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu, (void)info, (void)data;
    current = task_at(address);
}

static void on_mark(unsigned cpu, void *data)
{
    (void)cpu;
    uintptr_t mark = (uintptr_t)data;
    if (mark <= HOLDER) {
        current->role = (enum role)mark;
        if (mark == SERVER || mark == REDIS)
            started = (enum role)mark;
    } else if (mark == MARK_BEGIN) {
        begin();
    } else if (mark == MARK_END) {
        end();
    } else if (mark == MARK_LOAD_ENDED) {
        forget(LOAD);
    } else if (mark == MARK_SERVER_ENDED) {
        started = NOBODY;
        forget(SERVER);
        forget(WORKER);
        forget(ENDING);
        forget(HOLDER);
    }
}

enum { LONGEST = 15 }; // bytes of an instruction of x86

static size_t bytes_of(const struct qemu_plugin_insn *insn, uint8_t *bytes)
{
    size_t size = qemu_plugin_insn_size(insn);
#if QEMU_PLUGIN_VERSION < 3
    memcpy(bytes, qemu_plugin_insn_data(insn), size);
#else
    qemu_plugin_insn_data(insn, bytes, LONGEST);
#endif
    return size;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *block = block_at(qemu_plugin_tb_vaddr(tb), (uint32_t)count);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);

    bool stores_stack_pointer = false; // the instruction before this one
    for (size_t i = 0; i < count; i++) {
        // mov %rsp, N(%rdi) and mov N(%rsi), %rsp: __switch_to_asm, and nothing else
        static const uint8_t store[] = {0x48, 0x89, 0xa7}, load[] = {0x48, 0x8b, 0xa6};
        static const uint8_t mark[] = {0x0f, 0x1f, 0x84, 0x00};
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint8_t bytes[LONGEST + 1] = {0};
        size_t size = bytes_of(insn, bytes);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        bool returns = bytes[0] == 0xc3 && address > softirq_first && address < softirq_end;
        if (address == softirq_first || returns)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_softirq, QEMU_PLUGIN_CB_NO_REGS,
                                                   returns ? NULL : &softirq);
        if (address && (address == exit_begins || address == exit_ends))
            qemu_plugin_register_vcpu_insn_exec_cb(
                insn, on_exit_of_task, QEMU_PLUGIN_CB_NO_REGS,
                address == exit_begins ? &exit_begins : NULL);
        if (size == 7 && stores_stack_pointer && memcmp(bytes, load, sizeof load) == 0)
            qemu_plugin_register_vcpu_mem_cb(insn, on_switch, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_RW, NULL);
        stores_stack_pointer = size == 7 && memcmp(bytes, store, sizeof store) == 0;
        if (size == 8 && memcmp(bytes, mark, sizeof mark) == 0 && memcmp(bytes + 5, "EXA", 3) == 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_NO_REGS,
                                                   (void *)(uintptr_t)bytes[4]);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

// Reads two numbers in hexadecimal, with a dash between them.
static void read_addresses(const char *text, uint64_t *first, uint64_t *second)
{
    char *rest;
    *first = strtoull(text, &rest, 16);
    *second = *rest ? strtoull(rest + 1, NULL, 16) : 0;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "out=", 4) == 0)
            output = fopen(argv[i] + 4, "w");
        else if (strcmp(argv[i], "detail=on") == 0)
            detail = true;
        else if (strncmp(argv[i], "softirq=", 8) == 0)
            read_addresses(argv[i] + 8, &softirq_first, &softirq_end);
        else if (strncmp(argv[i], "exit=", 5) == 0)
            read_addresses(argv[i] + 5, &exit_begins, &exit_ends);
    }
    if (!output) {
        fputs("plugin.c: out=FILE is missing or cannot be written\n", stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
