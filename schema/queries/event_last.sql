-- store_event_last: where a listener begins who wants no history.
SELECT coalesce(max(id), 0) FROM event
