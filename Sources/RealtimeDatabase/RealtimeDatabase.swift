// RealtimeDatabase
