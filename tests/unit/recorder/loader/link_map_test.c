/* The loader's lists, read from this very process: hand-made ones for every shape, and the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/loader/link_map.h"
#include "recorder/loader/rendezvous.h"

enum { N_NODES = 200 };

/* <link.h> of 2.36 has struct r_debug_extended; spelled out so that older ones do. */
struct debug {
    struct r_debug base;
    struct debug *next;
};

struct fixture {
    struct debug debug;
    struct debug other;
    struct link_map nodes[N_NODES];
    char names[N_NODES][64];
    struct tg_link_maps *maps;
    struct tg_link_delta delta;
};

static void link_nodes(struct fixture *f, const size_t *order, size_t count)
{
    f->debug.base.r_map = count > 0 ? &f->nodes[order[0]] : NULL;
    for (size_t i = 0; i < count; i++) {
        f->nodes[order[i]].l_prev = i > 0 ? &f->nodes[order[i - 1]] : NULL;
        f->nodes[order[i]].l_next = i + 1 < count ? &f->nodes[order[i + 1]] : NULL;
    }
}

static void link_first(struct fixture *f, size_t count)
{
    size_t order[N_NODES];
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    link_nodes(f, order, count);
}

static void update(struct fixture *f, bool thorough)
{
    tg_link_maps_update(f->maps, getpid(), thorough ? TG_LINK_LOOK_WHOLE : TG_LINK_LOOK_NEW, &f->delta);
}

/* Nodes 0 (the program) and 1 (the vdso) are linked and known. */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < N_NODES; i++) {
        snprintf(f->names[i], sizeof f->names[i], "/lib/lib%zu.so", i);
        f->nodes[i].l_name = f->names[i];
        f->nodes[i].l_addr = 0x10000 * (i + 1);
        f->nodes[i].l_ld = (void *)(0x10000 * (i + 1) + 0x800);
    }
    f->names[0][0] = '\0';
    strcpy(f->names[1], "linux-vdso.so.1");
    f->debug.base.r_version = 1;
    f->debug.base.r_brk = 0x1234;
    link_first(f, 2);
    f->maps = tg_link_maps_create(64, (uint64_t)(uintptr_t)&f->debug);
    assert_non_null(f->maps);
    update(f, false);
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 0); /* neither is a library */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    tg_link_maps_destroy(f->maps);
    free(f);
    return 0;
}

static void expect_added(const struct fixture *f, size_t first, size_t count)
{
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 1);
    assert_int_equal(f->delta.changes[0].n_removed, 0);
    assert_int_equal(f->delta.changes[0].n_added, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(f->delta.changes[0].added[i]->path, f->names[first + i]);
}

static void new_objects_are_read_from_the_tail_on(void **state)
{
    struct fixture *f = *state;
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
    link_first(f, 5);
    update(f, false);
    expect_added(f, 2, 3);
    assert_int_equal(f->delta.state, TG_LINK_CONSISTENT);
    assert_int_equal(f->delta.changes[0].added[0]->base, 0x30000);
    assert_int_equal(f->delta.changes[0].added[0]->link_map, (uintptr_t)&f->nodes[2]);
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
    link_first(f, N_NODES);
    update(f, false);
    expect_added(f, 5, N_NODES - 5);
    assert_int_equal(tg_link_maps_count(f->maps, 0), N_NODES);
    uint64_t r_brk = 0;
    uint64_t r_state = 77;
    assert_true(tg_link_maps_peek(f->maps, getpid(), &r_brk, &r_state));
    assert_int_equal(r_brk, 0x1234);
    assert_int_equal(r_state, TG_LINK_CONSISTENT);
}

static void a_load_and_its_dependencies_are_one_change(void **state)
{
    struct fixture *f = *state;
    link_first(f, 3); /* the object that was asked for */
    f->debug.base.r_state = RT_ADD;
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
    assert_int_equal(f->delta.state, TG_LINK_ADD);
    link_first(f, 5); /* and what it needs */
    f->debug.base.r_state = RT_CONSISTENT;
    update(f, false);
    expect_added(f, 2, 3);
    assert_int_equal(f->delta.state, TG_LINK_CONSISTENT);
}

static void two_additions_in_a_row_are_told_at_the_second(void **state)
{
    struct fixture *f = *state;
    link_first(f, 3);
    f->debug.base.r_state = RT_ADD;
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
    link_first(f, 5);
    update(f, false);
    expect_added(f, 2, 3);
    link_first(f, 6);
    f->debug.base.r_state = RT_CONSISTENT;
    update(f, false);
    expect_added(f, 5, 1);
    link_first(f, 7);
    f->debug.base.r_state = RT_ADD;
    tg_link_maps_update(f->maps, getpid(), TG_LINK_LOOK_LAST, &f->delta);
    expect_added(f, 6, 1); /* there is no next time */
}

static void an_unload_is_found_after_the_delete_stop(void **state)
{
    struct fixture *f = *state;
    link_first(f, 100);
    update(f, false);
    f->debug.base.r_state = RT_DELETE;
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
    size_t order[97];
    for (size_t i = 0, n = 0; i < 100; i++) {
        if (i != 7 && i != 50 && i != 99)
            order[n++] = i;
    }
    link_nodes(f, order, 97);
    memset(&f->nodes[50], 0xa5, sizeof f->nodes[50]); /* freed memory holds anything */
    f->debug.base.r_state = RT_CONSISTENT;
    update(f, false);
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 1);
    assert_int_equal(f->delta.changes[0].n_added, 0);
    assert_int_equal(f->delta.changes[0].n_removed, 3);
    assert_string_equal(f->delta.changes[0].removed[0]->path, "/lib/lib7.so");
    assert_string_equal(f->delta.changes[0].removed[2]->path, "/lib/lib99.so");
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
}

static void an_unload_without_a_stop_is_found_by_a_thorough_look(void **state)
{
    struct fixture *f = *state;
    link_first(f, 6);
    update(f, false);
    const size_t order[] = {0, 1, 2, 4, 5};
    link_nodes(f, order, 5);
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0); /* the tail is what it was */
    update(f, true);
    assert_int_equal(f->delta.n_changes, 1);
    assert_int_equal(f->delta.changes[0].n_removed, 1);
    assert_string_equal(f->delta.changes[0].removed[0]->path, "/lib/lib3.so");
}

static void a_tail_that_went_and_came_back_is_noticed(void **state)
{
    struct fixture *f = *state;
    link_first(f, 6);
    update(f, false);
    const size_t order[] = {0, 1, 2, 3, 4, 6, 7, 5}; /* 5 closed, 6 and 7 opened, 5 opened where it was */
    link_nodes(f, order, 8);
    update(f, false);
    expect_added(f, 6, 2);
}

static void another_object_at_the_same_link_map_is_another_object(void **state)
{
    struct fixture *f = *state;
    link_first(f, 6);
    update(f, false);
    /* same struct, same base, same dynamic section, same name buffer: another file */
    strcpy(f->names[5], "/lib/lib9.so");
    update(f, false);
    assert_int_equal(f->delta.n_changes, 1);
    assert_int_equal(f->delta.changes[0].n_removed, 1);
    assert_string_equal(f->delta.changes[0].removed[0]->path, "/lib/lib5.so");
    assert_int_equal(f->delta.changes[0].n_added, 1);
    assert_string_equal(f->delta.changes[0].added[0]->path, "/lib/lib9.so");
    f->nodes[3].l_addr += 0x1000;
    update(f, true);
    assert_int_equal(f->delta.changes[0].n_removed, 1);
    assert_int_equal(f->delta.changes[0].n_added, 1);
    assert_string_equal(f->delta.changes[0].added[0]->path, "/lib/lib3.so");
}

/* Unseen, it has gone and come again; all but its name is where it was. */
static void the_same_at_the_same_place_is_the_same(void **state)
{
    struct fixture *f = *state;
    char elsewhere[64];
    link_first(f, 6);
    update(f, false);
    strcpy(elsewhere, f->names[3]);
    f->nodes[3].l_name = elsewhere;
    update(f, true);
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 0);
    strcpy(elsewhere, "/lib/lib9.so");
    update(f, true);
    assert_int_equal(f->delta.n_changes, 1);
    assert_string_equal(f->delta.changes[0].removed[0]->path, "/lib/lib3.so");
    assert_string_equal(f->delta.changes[0].added[0]->path, "/lib/lib9.so");
    f->nodes[3].l_name = NULL;
    update(f, true);
    assert_int_equal(f->delta.changes[0].n_removed, 1);
    assert_string_equal(f->delta.changes[0].removed[0]->path, "/lib/lib9.so");
}

/* An unload was missed, and what was loaded since has the place of what has gone. */
static void another_object_behind_the_tail_takes_the_place_of_the_first(void **state)
{
    struct fixture *f = *state;
    link_first(f, 6);
    update(f, false);
    const size_t order[] = {0, 1, 2, 4, 5, 6, 3};
    strcpy(f->names[3], "/lib/lib9.so");
    link_nodes(f, order, 7);
    update(f, false);
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 1);
    assert_int_equal(f->delta.changes[0].n_removed, 1);
    assert_string_equal(f->delta.changes[0].removed[0]->path, "/lib/lib3.so");
    assert_int_equal(f->delta.changes[0].n_added, 2);
    assert_string_equal(f->delta.changes[0].added[0]->path, "/lib/lib6.so");
    assert_string_equal(f->delta.changes[0].added[1]->path, "/lib/lib9.so");
}

struct mover {
    struct fixture *fixture;
    atomic_bool over;
};

/* Object 5 goes, and comes back behind the others as another one, and so on. */
static void *move(void *argument)
{
    struct mover *mover = argument;
    struct fixture *f = mover->fixture;
    size_t early[N_NODES], late[N_NODES];
    for (size_t i = 0; i < N_NODES; i++) {
        early[i] = i;
        late[i] = i < 5 ? i : i + 1 < N_NODES ? i + 1 : 5;
    }
    for (unsigned i = 0; !mover->over; i++) {
        strcpy(f->names[5], i % 2 == 0 ? "/lib/odd.so" : "/lib/lib5.so");
        link_nodes(f, i % 2 == 0 ? late : early, N_NODES);
        for (int turns = 0; turns < 3000; turns++)
            __asm__ volatile("");
    }
    return NULL;
}

/* Objects that change during a look are told by a later look; nothing is taken for two objects. */
static void a_list_that_changes_while_it_is_read_has_each_object_once(void **state)
{
    struct fixture *f = *state;
    struct mover mover = {.fixture = f};
    pthread_t thread;
    link_first(f, N_NODES);
    update(f, true);
    assert_int_equal(pthread_create(&thread, NULL, move, &mover), 0);
    size_t twice = 0;
    for (int i = 0; i < 1000; i++) {
        size_t at_5 = 0;
        update(f, true);
        for (size_t j = 0; j < tg_link_maps_count(f->maps, 0); j++)
            at_5 += tg_link_maps_at(f->maps, 0, j)->link_map == (uint64_t)(uintptr_t)&f->nodes[5];
        twice += at_5 > 1;
    }
    mover.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(twice, 0);
    update(f, true);
    assert_null(f->delta.problem);
    assert_int_equal(tg_link_maps_count(f->maps, 0), N_NODES);
}

static void cycles_and_garbage_are_problems_not_hangs(void **state)
{
    struct fixture *f = *state;
    link_first(f, 6);
    f->nodes[5].l_next = &f->nodes[2];
    update(f, false);
    assert_non_null(f->delta.problem);
    assert_int_equal(f->delta.changes[0].n_added, 4); /* the right part is kept */
    update(f, true);
    assert_non_null(f->delta.problem);
    f->nodes[5].l_next = (void *)0x10; /* unmapped */
    update(f, false);
    assert_non_null(f->delta.problem);
    assert_int_equal(f->delta.problem_address, 0x10);
    f->nodes[5].l_next = &f->nodes[5];
    update(f, false);
    assert_non_null(f->delta.problem);
    f->debug.base.r_map = (void *)UINTPTR_MAX;
    update(f, false);
    assert_non_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 0); /* nothing is taken for unloaded */
    link_first(f, 7);
    update(f, false);
    expect_added(f, 6, 1);
}

static void names_that_cannot_be_are_problems(void **state)
{
    struct fixture *f = *state;
    char *endless = malloc(2 * PATH_MAX + 2);
    memset(endless, 'x', 2 * PATH_MAX + 1);
    endless[2 * PATH_MAX + 1] = '\0';
    link_first(f, 4);
    f->nodes[3].l_name = endless;
    update(f, false);
    assert_non_null(f->delta.problem);
    assert_int_equal(f->delta.changes[0].n_added, 1);
    f->nodes[3].l_name = (char *)8;
    update(f, false);
    assert_non_null(f->delta.problem);
    f->nodes[3].l_name = f->names[3];
    update(f, false);
    expect_added(f, 3, 1);
    free(endless);
}

static void a_list_that_vanished_is_all_unloaded(void **state)
{
    struct fixture *f = *state;
    link_first(f, 5);
    update(f, false);
    f->debug.base.r_map = NULL;
    update(f, false);
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.changes[0].n_removed, 3);
    assert_int_equal(tg_link_maps_count(f->maps, 0), 0);
    update(f, false);
    assert_int_equal(f->delta.n_changes, 0);
}

static void namespaces_are_followed(void **state)
{
    struct fixture *f = *state;
    f->other.base.r_version = 1;
    f->other.base.r_map = &f->nodes[100];
    f->debug.base.r_version = 2;
    f->debug.next = &f->other;
    f->nodes[100].l_next = &f->nodes[101];
    f->nodes[101].l_prev = &f->nodes[100];
    f->other.base.r_state = RT_ADD;
    update(f, false);
    assert_int_equal(f->delta.state, TG_LINK_ADD);
    assert_int_equal(f->delta.n_changes, 0);
    f->other.base.r_state = RT_CONSISTENT;
    link_first(f, 3);
    update(f, false);
    assert_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 2);
    assert_int_equal(f->delta.changes[0].namespace_index, 0);
    assert_int_equal(f->delta.changes[0].n_added, 1);
    assert_int_equal(f->delta.changes[1].namespace_index, 1);
    assert_int_equal(f->delta.changes[1].n_added, 2); /* the first object of the list is a library */
    f->nodes[101].l_next = &f->nodes[102];
    f->nodes[102].l_prev = &f->nodes[101];
    update(f, false);
    assert_int_equal(f->delta.n_changes, 1);
    assert_int_equal(f->delta.changes[0].namespace_index, 1);
    assert_string_equal(f->delta.changes[0].added[0]->path, "/lib/lib102.so");
    f->other.next = &f->debug; /* the chain bites its tail */
    update(f, false);
    assert_non_null(f->delta.problem);
    assert_int_equal(f->delta.n_changes, 0);
}

static void a_copy_goes_its_own_way(void **state)
{
    struct fixture *f = *state;
    link_first(f, 5);
    update(f, false);
    struct tg_link_maps *copy;
    copy = tg_link_maps_copy(f->maps);
    assert_non_null(copy);
    link_first(f, 6);
    update(f, false);
    expect_added(f, 5, 1);
    tg_link_maps_destroy(f->maps);
    f->maps = copy;
    update(f, false);
    expect_added(f, 5, 1);
}

static void programs_of_32_bits_have_narrow_lists(void **state)
{
    (void)state;
    uint32_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    uint32_t at = (uint32_t)(uintptr_t)page;
    strcpy((char *)page + 512, "");
    strcpy((char *)page + 520, "/lib/i386-linux-gnu/libc.so.6");
    const uint32_t debug[] = {1, at + 64, 0x5678, RT_CONSISTENT, 0};
    const uint32_t first[] = {0x400000, at + 512, 0x400800, at + 128, 0};
    const uint32_t second[] = {0xf7000000, at + 520, 0xf7000800, 0, at + 64};
    memcpy(page, debug, sizeof debug);
    memcpy(page + 16, first, sizeof first);
    memcpy(page + 32, second, sizeof second);
    struct tg_link_maps *maps;
    struct tg_link_delta delta;
    maps = tg_link_maps_create(32, at);
    assert_non_null(maps);
    tg_link_maps_update(maps, getpid(), TG_LINK_LOOK_NEW, &delta);
    assert_null(delta.problem);
    assert_int_equal(delta.n_changes, 1);
    assert_int_equal(delta.changes[0].n_added, 1);
    assert_string_equal(delta.changes[0].added[0]->path, "/lib/i386-linux-gnu/libc.so.6");
    assert_int_equal(delta.changes[0].added[0]->base, 0xf7000000);
    uint64_t r_brk = 0;
    uint64_t r_state = 77;
    assert_true(tg_link_maps_peek(maps, getpid(), &r_brk, &r_state));
    assert_int_equal(r_brk, 0x5678);
    assert_int_equal(r_state, TG_LINK_CONSISTENT);
    tg_link_maps_destroy(maps);
    munmap(page, 4096);
}

static const struct tg_loaded_object *find_added(const struct tg_link_delta *delta, const char *part)
{
    for (size_t i = 0; i < delta->n_changes; i++) {
        for (size_t j = 0; j < delta->changes[i].n_added; j++) {
            if (strstr(delta->changes[i].added[j]->path, part) != NULL)
                return delta->changes[i].added[j];
        }
    }
    return NULL;
}

static void this_process_own_list_is_found_and_followed(void **state)
{
    (void)state;
    uint64_t r_debug = 0;
    assert_int_equal(tg_rendezvous_locate(getpid(), 64, getauxval(AT_PHDR), getauxval(AT_PHNUM), &r_debug),
                     TG_RENDEZVOUS_FOUND);
    const struct r_debug *shared = (const void *)(uintptr_t)r_debug;
    assert_int_not_equal(shared->r_brk, 0);
    assert_string_equal(shared->r_map->l_name, "");
    struct tg_link_maps *maps;
    struct tg_link_delta delta;
    maps = tg_link_maps_create(64, r_debug);
    assert_non_null(maps);
    tg_link_maps_update(maps, getpid(), TG_LINK_LOOK_NEW, &delta);
    assert_null(delta.problem);
    const struct tg_loaded_object *libc = find_added(&delta, "/libc.so.6");
    assert_non_null(libc);
    assert_int_not_equal(libc->size_bytes, 0);
    assert_int_equal(strlen(libc->build_id), 40);
    assert_int_equal(libc->header, libc->base);
    size_t count = delta.changes[0].n_added;
    bool *dependency = calloc(count, sizeof *dependency);
    tg_loaded_object_mark_dependencies(getpid(), 64, delta.changes[0].added, count, dependency);
    for (size_t i = 0; i < count; i++) {
        if (delta.changes[0].added[i] == libc)
            assert_true(dependency[i]); /* cmocka needs it, whatever else is there */
    }
    free(dependency);
    void *handle = dlopen("libresolv.so.2", RTLD_NOW);
    assert_non_null(handle);
    tg_link_maps_update(maps, getpid(), TG_LINK_LOOK_NEW, &delta);
    assert_non_null(find_added(&delta, "/libresolv.so.2"));
    dlclose(handle);
    tg_link_maps_update(maps, getpid(), TG_LINK_LOOK_NEW, &delta);
    assert_null(delta.problem);
    tg_link_maps_destroy(maps);
}

static void headers_that_are_none_say_never(void **state)
{
    (void)state;
    uint64_t r_debug = 77;
    assert_int_equal(tg_rendezvous_locate(getpid(), 64, 0x10, 9, &r_debug), TG_RENDEZVOUS_NEVER);
    assert_int_equal(tg_rendezvous_locate(getpid(), 64, getauxval(AT_PHDR), 1u << 20, &r_debug),
                     TG_RENDEZVOUS_NEVER);
    assert_int_equal(tg_rendezvous_locate(getpid(), 64, getauxval(AT_PHDR), 0, &r_debug),
                     TG_RENDEZVOUS_NEVER);
    assert_int_equal(r_debug, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(new_objects_are_read_from_the_tail_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_load_and_its_dependencies_are_one_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_additions_in_a_row_are_told_at_the_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unload_is_found_after_the_delete_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unload_without_a_stop_is_found_by_a_thorough_look, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_tail_that_went_and_came_back_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_object_at_the_same_link_map_is_another_object, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_same_at_the_same_place_is_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_object_behind_the_tail_takes_the_place_of_the_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_changes_while_it_is_read_has_each_object_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(cycles_and_garbage_are_problems_not_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_cannot_be_are_problems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_vanished_is_all_unloaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(namespaces_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_goes_its_own_way, set_up, tear_down),
        cmocka_unit_test(programs_of_32_bits_have_narrow_lists),
        cmocka_unit_test(this_process_own_list_is_found_and_followed),
        cmocka_unit_test(headers_that_are_none_say_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
