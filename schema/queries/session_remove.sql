-- store_session_remove: signed out.
DELETE FROM session WHERE hash = $1
