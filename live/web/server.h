/* The process that serves the page: HTTP on one side, the line to the session on the other. Nothing here knows a trace or a
 * job; it ends with the session's end of the line. */
#ifndef TG_LIVE_WEB_SERVER_H
#define TG_LIVE_WEB_SERVER_H

/* The descriptors that the process is started with. */
enum { TG_WEB_LINE_FD = 3, TG_WEB_LISTEN_FD = 4 };

/* The first frame on the line is "begin", a struct tg_web_gate; the answer is "ready" or "failed", why. Then frames are
 * requests of browsers: "data" (NAME?QUERY), "command", "complete" (JSON), "interrupt", each answered by a frame with its
 * id and an HTTP status. Of the session's own "news" is for the streams, "closed" (why) the end. Returns the exit status. */
int tg_web_server_run(void);

#endif
