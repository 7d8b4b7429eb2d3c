"""The most that one client may have."""

#: of a client; the one that was not used for longest makes room for the next
SESSIONS_MAX = 32
#: a session that was not used for so long ends
IDLE_S_MAX = 3600.0
#: of a session: prepared statements, transactions, and results that can be fetched (the oldest is forgotten)
PREPARED_MAX = 256
TRANSACTIONS_MAX = 16
RESULTS_MAX = 64
#: of a statement
TEXT_BYTES_MAX = 4 << 20
#: tokens that were given for a user's name and password; the oldest is forgotten
TOKENS_MAX = 1024
#: a job whose result nobody has begun to fetch for so long ends; it runs again when somebody does
UNREAD_S_MAX = 60.0
#: endpoints of a result
ENDPOINTS_MAX = 8
#: of a result with several endpoints, for tickets that are used again; for UNREAD_S_MAX after its end
KEPT_BYTES_MAX = 16 << 20
#: a result with several endpoints ends if no ticket is used for so long after a connection broke
RETRY_S_MAX = 10.0
