-- store_code_redeem: deleting it is what makes it work only once, also for two at a time.
WITH redeemed AS (DELETE FROM code WHERE hash = $1 RETURNING token, expires_at)
SELECT token.id, name, role, targets, token.expires_at
  FROM redeemed
  JOIN token ON token.id = redeemed.token
 WHERE redeemed.expires_at > now()
   AND (token.expires_at IS NULL OR token.expires_at > now())
