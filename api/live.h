/* A connection whose answer is made as things happen. */
#pragma once

struct live;
/* There may be something to read. Any thread, between attach(live) and attach(NULL) of its stream. */
void live_wake(struct live *live);
