#include "format/trace/plain_words.h"

#include "format/trace/plain_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 24 };

/* Collected from the texts of recorder/ and format/, strerror(), dlerror() and the messages of MPI libraries; a
 * word that is missing costs its message some sense, one too many may be somebody's name. */
static const char vocabulary[] =
    " a abort aborted aborting about above accepted access accessing according accordingly "
    "acquire acquired across actual add address addresses administrator advertise after again "
    "agent agents aligned all allocate allows alone already also although always amode among "
    "an and anonymous another any anyway apart applies apply are aren argument arguments "
    "around as aside ask asked asks assert assign assume at attach attached attaching attempt "
    "attempted attempting attribute auxiliary available avoided away back barrier barriers "
    "base based be because becomes becoming been before began begin begins behind being "
    "belong belongs below best better between beyond big bigger binary bits block blocking "
    "boot both bound boundary branch break breakpoint breakpoints breaks bring broken brought "
    "buffer build built bus busy but by byte bytes calibrate call called callee caller "
    "callers calls came can cancel canceled cancellation cannot capabilities care cases "
    "caused cell chain chained changed channel character characters check checked checks "
    "checksum child choose chooses chroot chunk chunks claims clang cleaning clear cleared "
    "client clients clock closed closing code collective collectives column columns combined "
    "come comes comm command common communication communicators compatible compile compiled "
    "complete completed completely compress condition conditions conflict connected "
    "connection construct constructor constructs contain container contains content contents "
    "continue continues control controlled conversion copy correct corrupt corrupted cost "
    "costs could couldn count counter counts cover cpu cpus create created critical cross "
    "current cut d damaged data datatype datatypes deadlock debugger debuggers debuginfod "
    "december decode decompress deep deeply default deferred defined deleted denied depend "
    "dependence dependencies dependency depends derived description descriptor desired "
    "destination destructor detach detached details detected device di did didn died "
    "difference different differently differs direct directly directory disables disagree "
    "disagrees disk disp displacement displacements dlopen do does doesn don done doubt down "
    "drain driver drop dropped due during dwarf dynamic each earlier early easily eight "
    "element eleven elf else elsewhere empty enabled end ended endpoint engine enough entered "
    "entries entry environment epoch equal errhandler error errors even event events "
    "everything exact exactly example exceeded exceeds except exceptions exchange exe exec "
    "executable executables execute exists exit exited exits expected expired explicit extra "
    "facts failed failure failures family far fast faster fatal february few field fields "
    "file files filler filter finalization finalize finalized finish finished finishes first "
    "fit fits five flags flavor follow for forbid fork form format fortran found four frame "
    "free from front full function further futex gb gcc gdb get gib gid give gives glibc glob "
    "gnu goes going gone good got group groups grow guard had half halted handle handled "
    "handler handlers handles happen happened happens hardware has hash hasn have haven "
    "header headers heap held here hidden hit hits hold holds host hostname hosts hour hours "
    "how hydra i id identifier ids if ignore ignored ignores illegal implementation "
    "implemented implicit implies important impossible in inappropriate include included "
    "includes incomplete index indirect info information inherits init initial initialization "
    "initialized injector input inside installed instance instead instruction int intact "
    "intel intercommunicator interface internal interrupted interruption into "
    "intracommunicator invalid ioctl ip is isn it its itself january job jobs join joins july "
    "kb keep keeps kept kernel key keys keyval kib kill killed kind kinds know known knows "
    "lacks large larger last late later latest launch launched launcher layout ld ldd least "
    "leave leaves left length less let lets level levels lib libc libgomp libomp libraries "
    "library lies like likely limit limited limits line lines link links linux list lists "
    "little live ll lldb llvm load loaded loader loading loads local locations lock locked "
    "locks long longer look looked looks lookup loss lost m machine made main make makes "
    "making malformed manual many map mapped masked master matched matches matter maximum may "
    "mb mean meanwhile measure measures medium member members memory message messages met mib "
    "microseconds might milliseconds minimum minute minutes mismatch missing mode more most "
    "moved mpi mpich mpir ms msec much multibyte multihop must mutex n name named names "
    "namespace namespaces nanoseconds near needed needs negative neither nested network never "
    "new newer next nine no node nodes noise non nonblocking none nor normal not note noted "
    "notes nothing november now ns null number numbers numerical o object objects observe "
    "observed observes occurred occurs october of off offset old older omitted on once one "
    "ones only open openmp opens operand operation operator option options or order ordered "
    "orte other others otherwise our out output outside over overlong oversubscribe overwrite "
    "overwritten own owner package page pages parallel parameter parameters parent part "
    "partner parts passed passes path paths payload payloads peer peers pending percent "
    "performed perhaps permission permitted persistent pid pids pipe place planted please pmi "
    "pmix point pointer pointers points pop port position positions possible posted power "
    "precede predict prefix preload preloaded previous print private privilege probably "
    "problem problems proc process processes processors profile program programs progress "
    "protocol provided prrte ptrace publish push put puts python quiet quota quote raised "
    "range ranges rank ranks re reach reached reaches read readable reading reads ready "
    "really reason rebooted receive received receiver record recorded recorder recorders "
    "recording records recover recoverable redact reduction reductions references refused "
    "region regions registers regular rejected release released relocation relocations remain "
    "remaining remains remember remote remove removed rename repairs repeated replace "
    "replaced report reported reporting request requested requests required reset resolver "
    "resource resources rest restarted restricts result results resume return returned "
    "returning revoked ring rings rma room root rounded route row rows run running runs "
    "runtime s said same samples sanitizer say saying says schedule searched sec seccomp "
    "second seconds section sections see seek seekable seems seen sees self semaphore "
    "semaphores send sender sending sends sent september server servers service set settings "
    "seven severed shadow shared short should show shows shutdown side signal signals similar "
    "simple since single site six size sizes skip slot slots slow slower slurm small smaller "
    "so socket socketpair sockets software some somebody something sort sorted source sp "
    "space span spawn specific specified spectrum spent splice stack stacks stale stamp stand "
    "standard stands start started starting starts startup stat state static status stay step "
    "steps still stop stopped stops storage stored strange stream streams strict string "
    "strings structure sub substitutions such suffix supported sure switched symbol symbolic "
    "symbols sync synchronized sys system systems t table tag tags taken takes taking task "
    "taskgroup taskloop taskwait taskyield team teams temporarily ten test text than that the "
    "their them then there these they this though thread threads three through thus tids time "
    "timed timeout timer times tls to together tollgate too took tool tools topology total "
    "touch trace traced tracee tracees tracer tracing trailer trailing transport trap "
    "truncated truncation try tsc turned twelve twice two type ucx uid unable unavailable "
    "unchanged undefined under understood unexpected uninitialized unique unit units unknown "
    "unless unload unloading unmatched unreachable unresolved unterminated until unused "
    "unwind up update upon us usable usage use usec useful user users usual usually valid "
    "value values variable variables vdso vector version versioned via view wait waited waits "
    "wants warn was wasn watch watches way we well went were weren what when whenever where "
    "whether which while who whole whom whose why wide wider will window windows wish with "
    "within without won words worker workers works would write writer writes written wrong "
    "yama year yes yet you your zstd ";

/* Of the word that is between spaces in the vocabulary. */
static bool is_known(const char *word, size_t size)
{
    char key[MAX_WORD + 3];
    if (size == 0 || size > MAX_WORD)
        return false;
    snprintf(key, sizeof key, " %.*s ", (int)size, word);
    if (isupper((unsigned char)key[1]))
        key[1] = (char)tolower((unsigned char)key[1]);
    for (size_t i = 1; i <= size; i++)
        if (!islower((unsigned char)key[i]))
            return false;
    return strstr(vocabulary, key) != NULL;
}

/* "start-up": each part is a word. */
static bool are_known(const char *word, size_t size)
{
    for (size_t at = 0; at <= size;) {
        const char *hyphen = memchr(word + at, '-', size - at);
        size_t part = hyphen == NULL ? size - at : (size_t)(hyphen - word) - at;
        if (!is_known(word + at, part))
            return false;
        at += part + 1;
    }
    return true;
}

static bool has_letters(const char *word, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (isalpha((unsigned char)word[i]) || (unsigned char)word[i] >= 0x80)
            return true;
    return false;
}

/* "17", "1.5", "+3", "0x7ffe", "64K", "12ms", "95%" */
static bool is_amount(const char *word, size_t size)
{
    static const char *const units[] = {"",   "%",  "K", "M",  "G",  "s",  "ms",
                                        "us", "ns", "x", "th", "st", "nd", NULL};
    size_t at = size > 1 && (*word == '-' || *word == '+'), length = 0;
    if (size > 2 && memcmp(word, "0x", 2) == 0) {
        for (at = 2; at < size && isxdigit((unsigned char)word[at]);)
            at++;
        return at == size;
    }
    while (at + length < size && (isdigit((unsigned char)word[at + length]) || word[at + length] == '.'))
        length++;
    for (size_t i = 0; units[i] != NULL; i++)
        if (strlen(units[i]) == size - at - length &&
            memcmp(units[i], word + at + length, strlen(units[i])) == 0)
            return tg_plain_number(word + at, length, size);
    return false;
}

/* Names that programs of everybody use, and what is spelled with capitals. */
static bool is_name(const char *word, size_t size)
{
    static const char *const beginnings[] = {"MPI_", "PMPI_", "MPIR_", "MPIX_", "PMIX_",   "PMI_",
                                             "SIG",  "omp_",  "__kmp", "GOMP_", "PTRACE_", "PR_",
                                             "PT_",  "DT_",   "SHT_",  NULL};
    static const char *const spelled[] = {
        "MPI", "MPIR", "MPICH", "OpenMP", "OMPT", "PMIx", "PMI",  "UCX", "ELF", "DWARF", "TSC", "LLVM", "GNU",
        "GCC", "TLS",  "CPU",   "CPUs",   "PID",  "ID",   "NULL", "I",   "KiB", "MiB",   "GiB", NULL};
    for (size_t i = 0; spelled[i] != NULL; i++)
        if (strlen(spelled[i]) == size && memcmp(spelled[i], word, size) == 0)
            return true;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)word[i]) && word[i] != '_')
            return false;
    for (size_t i = 0; beginnings[i] != NULL; i++)
        if (strlen(beginnings[i]) < size && memcmp(beginnings[i], word, strlen(beginnings[i])) == 0)
            return true;
    return false;
}

bool tg_plain_word(const char *word, size_t size)
{
    while (size > 0 && strchr(".!?", word[size - 1]) != NULL)
        size--;
    if (!has_letters(word, size)) /* punctuation, dates; an internet address is none */
        return size == 0 || !isdigit((unsigned char)*word) || is_amount(word, size);
    return are_known(word, size) || is_amount(word, size) || is_name(word, size);
}
