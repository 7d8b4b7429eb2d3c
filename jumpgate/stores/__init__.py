"""Object stores and web servers: which names are theirs, what lies there, and how a process reads it.

`names` tells their paths from files, `settings` says which stores there are and how they are reached, `objects` asks
them what an object is, `listing` finds objects by folder and pattern, and `reading` reads ranges for the planner.
`providers` says what differs between the services, which are a module each: `s3`, `gs`, `azure`, and `web` for servers
without a listing. Instances read in C++ (ncas/runtime/src/objects), by URLs that are signed for them and expire.
"""
