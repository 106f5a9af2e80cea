#include "live/web/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tg_web_gate gate;
static char cookie[100];

static struct tg_web_request own(const char *path)
{
    return (struct tg_web_request){
        .method = "GET", .path = path, .host = "localhost:8017", .cookies = cookie};
}

static unsigned status_of(const struct tg_web_request *request)
{
    bool sets_cookie;
    const char *why;
    unsigned status = tg_web_gate_check(&gate, request, &sets_cookie, &why);
    assert_true((status == 0) == (why == NULL));
    return status;
}

static int prepare(void **context)
{
    (void)context;
    if (!tg_web_gate_init(&gate, 8017))
        return 1;
    tg_web_gate_add_name(&gate, "localhost");
    tg_web_gate_add_name(&gate, "[::1]");
    snprintf(cookie, sizeof cookie, "a=b; %s=%s", gate.cookie, gate.secret);
    return 0;
}

static void token_opens_the_page_and_nothing_else(void **context)
{
    (void)context;
    bool sets_cookie;
    const char *why;
    struct tg_web_request request = own("/");
    request.cookies = NULL;
    assert_int_equal(status_of(&request), 401);
    request.token = gate.token;
    assert_int_equal(tg_web_gate_check(&gate, &request, &sets_cookie, &why), 0);
    assert_true(sets_cookie);
    request.path = "/data/session";
    assert_int_equal(status_of(&request), 401);
    assert_string_not_equal(gate.token, gate.secret);
}

static void cookie_has_to_be_whole(void **context)
{
    (void)context;
    struct tg_web_request request = own("/data/session");
    char wrong[120];
    assert_int_equal(status_of(&request), 0);
    request.cookies = wrong;
    snprintf(wrong, sizeof wrong, "%s=%.31s", gate.cookie, gate.secret);
    assert_int_equal(status_of(&request), 401);
    snprintf(wrong, sizeof wrong, "%s=%s0", gate.cookie, gate.secret);
    assert_int_equal(status_of(&request), 401);
    snprintf(wrong, sizeof wrong, "x%s=%s", gate.cookie, gate.secret);
    assert_int_equal(status_of(&request), 401);
    snprintf(wrong, sizeof wrong, "%s=", gate.cookie);
    assert_int_equal(status_of(&request), 401);
    snprintf(wrong, sizeof wrong, "%s=%s;%s=0", gate.cookie, gate.secret, gate.cookie);
    assert_int_equal(status_of(&request), 0);
}

static void other_names_are_refused(void **context)
{
    (void)context;
    static const char *const ours[] = {"localhost", "LOCALHOST:1", "[::1]:8017", "[::1]"};
    static const char *const others[] = {"",          "evil.test",   "localhost.evil.test", "localhost :1",
                                         "[::1",      "localhost:x", "localhost:80:80",     "xlocalhost",
                                         "192.0.2.1", "[::2]"};
    struct tg_web_request request = own("/data/session");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        request.host = ours[i];
        assert_int_equal(status_of(&request), 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        request.host = others[i];
        assert_int_equal(status_of(&request), 421);
    }
    gate.takes_addresses = true;
    request.host = "192.0.2.1:80";
    assert_int_equal(status_of(&request), 0);
    request.host = "192.0.2.1.evil.test";
    assert_int_equal(status_of(&request), 421);
    gate.takes_addresses = false;
    request.host = NULL;
    assert_int_equal(status_of(&request), 400);
}

static void other_pages_are_refused(void **context)
{
    (void)context;
    struct tg_web_request request = own("/command");
    request.method = "POST";
    request.type = "application/json; charset=utf-8";
    assert_int_equal(status_of(&request), 0);
    request.origin = "http://localhost:8017";
    assert_int_equal(status_of(&request), 0);
    request.origin = "http://localhost:8018";
    assert_int_equal(status_of(&request), 403);
    request.origin = "null";
    assert_int_equal(status_of(&request), 403);
    request.origin = NULL;
    request.site = "cross-site";
    assert_int_equal(status_of(&request), 403);
    request.site = "same-origin";
    request.type = "text/plain";
    assert_int_equal(status_of(&request), 415);
    request.type = "application/jsonx";
    assert_int_equal(status_of(&request), 415);
    request.method = "PUT";
    assert_int_equal(status_of(&request), 405);
    /* a link may lead to the page, not to a document, and into no frame */
    request = own("/");
    request.site = "cross-site";
    request.mode = "navigate";
    request.destination = "document";
    assert_int_equal(status_of(&request), 0);
    request.destination = "iframe";
    assert_int_equal(status_of(&request), 403);
    request.destination = "document";
    request.path = "/data/session";
    assert_int_equal(status_of(&request), 403);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_opens_the_page_and_nothing_else),
        cmocka_unit_test(cookie_has_to_be_whole),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(other_pages_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
