#include "service/recovery.h"

enum next_step recovery_next(const struct remains *remains)
{
    if (!remains->ended) {
        if (remains->cancelling)
            return NEXT_CANCELLED;
        if (remains->rebooting && remains->overdue)
            return NEXT_OVERDUE;
        if (remains->rebooting && !remains->rebooted)
            return NEXT_WAIT;
        if (remains->rebooting && remains->resumes < RESUMES_MOST)
            return NEXT_RESUME;
        if (!remains->journal && remains->starts < STARTS_MOST)
            return NEXT_START;
        return NEXT_INTERRUPTED;
    }
    if (remains->cleanup != CLEANUP_PENDING && remains->cleanup != CLEANUP_RUNNING)
        return NEXT_CLOSE;
    return remains->cleans < CLEANS_MOST ? NEXT_CLEAN : NEXT_BLOCKED;
}
