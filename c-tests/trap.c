#include "harness.h"

#include "trap.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define TRAPS 4u
#define FRAMES 24

/* Where a library is mapped. */
typedef struct span {
    char path[PATH_MAX];
    uintptr_t start;
    uintptr_t end;
} span;

typedef struct trap {
    unsigned char *data;
    size_t size;
    size_t touched[3];
} trap;

static span engine_code, zerobind_code;
static trap traps[TRAPS];
static size_t trap_number;
static struct sigaction before;
static size_t page;

static uintptr_t program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
#error "the program counter of this processor"
#endif
}

static int is_inside(const span *code, uintptr_t address)
{
    return address >= code->start && address < code->end;
}

/* Whose code is at `address`; for the C library and the like, whose called it. */
static trap_toucher find_toucher(uintptr_t address)
{
    void *frames[FRAMES];
    int reached = 0;
    if (is_inside(&engine_code, address)) {
        return TRAP_ENGINE;
    }
    if (is_inside(&zerobind_code, address)) {
        return TRAP_ZEROBIND;
    }
    int count = backtrace(frames, FRAMES);
    for (int i = 0; i < count; i++) {
        /* the handler's own frames come first */
        reached |= (uintptr_t)frames[i] == address;
        if (reached && is_inside(&engine_code, (uintptr_t)frames[i])) {
            return TRAP_ENGINE;
        }
        if (reached && is_inside(&zerobind_code, (uintptr_t)frames[i])) {
            return TRAP_ZEROBIND;
        }
    }
    return TRAP_OTHER;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    unsigned char *address = info->si_addr;
    for (size_t i = 0; i < trap_number; i++) {
        trap *trap = &traps[i];
        if (address >= trap->data && address < trap->data + trap->size) {
            size_t offset = (size_t)(address - trap->data) / page * page;
            trap_toucher toucher = find_toucher(program_counter(context));
            __atomic_add_fetch(&trap->touched[toucher], 1, __ATOMIC_SEQ_CST);
            if (mprotect(trap->data + offset, page, PROT_READ | PROT_WRITE) == 0) {
                return;
            }
        }
    }
    /* an honest crash: without the handler the instruction fails again, for good */
    (void)number;
    sigaction(SIGSEGV, &before, NULL);
}

static int note_span(struct dl_phdr_info *info, size_t size, void *user_data)
{
    span *code = user_data;
    char path[PATH_MAX];
    (void)size;
    if (realpath(info->dlpi_name, path) == NULL || strcmp(path, code->path) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            uintptr_t end = start + info->dlpi_phdr[i].p_memsz;
            code->start = code->start == 0 || start < code->start ? start : code->start;
            code->end = end > code->end ? end : code->end;
        }
    }
    return 1;
}

static void find_span(span *code, const char *path)
{
    memset(code, 0, sizeof *code);
    REQUIRE(path != NULL && realpath(path, code->path) != NULL);
    dl_iterate_phdr(note_span, code);
    REQUIRE(code->start != 0);
}

static const char *path_of_zerobind(void)
{
    static Dl_info info;
    uint32_t (*function)(void) = zb_version;
    void *address = NULL;
    memcpy(&address, &function, sizeof address);
    REQUIRE(dladdr(address, &info) != 0);
    return info.dli_fname;
}

void trap_install(void)
{
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    struct sigaction action;
    void *frame[1];
    page = zt_page_size();
    REQUIRE_OK(zb_runtime_get_info(zt_engine(), &info));
    find_span(&engine_code, info.path);
    find_span(&zerobind_code, path_of_zerobind());
    /* the first call loads a library, which must not happen inside the handler */
    REQUIRE(backtrace(frame, 1) == 1);
    memset(traps, 0, sizeof traps);
    trap_number = 0;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    REQUIRE(sigaction(SIGSEGV, &action, &before) == 0);
}

size_t trap_arm(void *data, size_t size)
{
    REQUIRE(trap_number < TRAPS && (uintptr_t)data % page == 0);
    trap *trap = &traps[trap_number];
    trap->data = data;
    trap->size = (size + page - 1) / page * page;
    REQUIRE(mprotect(trap->data, trap->size, PROT_NONE) == 0);
    return trap_number++;
}

size_t trap_count(size_t number, trap_toucher toucher)
{
    REQUIRE(number < trap_number);
    return __atomic_load_n(&traps[number].touched[toucher], __ATOMIC_SEQ_CST);
}

size_t trap_count_all(size_t number)
{
    return trap_count(number, TRAP_ENGINE) + trap_count(number, TRAP_ZEROBIND) + trap_count(number, TRAP_OTHER);
}

void trap_remove(void)
{
    for (size_t i = 0; i < trap_number; i++) {
        REQUIRE(mprotect(traps[i].data, traps[i].size, PROT_READ | PROT_WRITE) == 0);
    }
    REQUIRE(sigaction(SIGSEGV, &before, NULL) == 0);
}
