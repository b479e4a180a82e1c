package import HearthRealtimeDatabase

/// Sizes and times that a database keeps to.
package struct DatabaseLimits: Sendable {
    /// Memory for nodes that are in use, per database, in bytes.
    package var residentBytesMax = 32 << 20
    /// Values of one turn, which becomes one row of the commit log, in bytes. A single request may have more.
    package var turnBytesMax = 256 << 10
    /// Bytes of values from which a request gets a separate turn, even if ``Request/isLarge`` is false.
    package var largeRequestBytesMin = 64 << 10
    /// Rows that a client's write may set one by one in its turn; administrators have no limit. A row takes some
    /// microseconds. Those of one large value, or of children of one place, are made beforehand and do not count.
    package var rowsAtOnceMax = 50_000
    /// Turns that set more rows one by one for a client are kept apart (``LongTurns``).
    package var rowsOfShortTurnMax = 5000
    /// After such a turn, the next one waits for this many times its duration, and longer if it took more than 20 ms.
    package var longTurnPauses: Int64 = 4
    /// Children that a step of a scan visits, if their time is less than that of a turn.
    package var scannedPerStepMax = 200
    /// Records on their way to the commit log, in bytes. With more, further requests wait: a small write comes after
    /// at most as much, however many large ones were sent before it.
    package var unwrittenBytesMax = 512 << 10
    /// Values that one turn reads, in bytes; the one that goes beyond it is its last.
    package var turnReadBytesMax = 1 << 20
    /// How long a turn takes; the request that takes it beyond that is its last.
    package var turnTimeMax = Duration.milliseconds(2)
    /// The time for work other than turns of small requests in one step; the part that exceeds it is the last one.
    package var stepTimeMax = Duration.milliseconds(1)
    /// Values that were read and wait for the log, per database, in bytes. With more, further requests wait.
    package var waitingReadBytesMax = 64 << 20
    /// The limit of outputs of all databases that the event loops have not delivered yet, in bytes. With more, further
    /// requests wait.
    package var backlogBytesMax = 64 << 20
    /// The limit of answers of all databases that another node does not have yet, in bytes for each node. With more,
    /// further requests of that node wait until it has half of them.
    package var answerBytesMax = 16 << 20
    /// Listeners of one connection.
    package var listenersMax = 10_000
    /// Of these, listeners of queries at one place.
    package var queriesOfPlaceMax = 1000
    /// Children that the windows of the queries of one connection keep: those of limited queries.
    package var keptPlacesMax = 1 << 18
    /// The memory that all databases may keep for connections.
    package var keptMemory = KeptMemory()
    /// The cost of telling listeners of queries of a commit before others have their turn, in bytes: those that are
    /// read, and as many for other work as take the same time. A millisecond is about a MiB.
    package var tellingStepCostMax = 2 << 20
    /// The same for all of a commit. Listeners that would cost more are ended.
    package var tellingCostMax = 512 << 20
    /// Changed rows in memory that make the applier start at once, in bytes.
    package var changedBytesSoft = 24 << 20
    /// The same while large requests wait, which are let in at the pace of the applier.
    package var changedBytesBulk = 8 << 20
    /// Changed rows and index entries in memory that are put aside for the applier at once, even if it is busy: with
    /// more, that would take longer than others should wait. With fewer, rows that change again and again would be
    /// written to the tree file more often.
    package var changedRowsMax = 65_536
    /// The same, at which children stop to expire until the applier has time. They do not hurry, and their changes are
    /// put aside in a moment.
    package var expiryChangesMax = 16_384
    /// Changed rows in memory at which further requests wait for the applier, in bytes.
    package var changedBytesHard = 40 << 20
    /// Changed rows are written to the tree file at least this often, in ticks of 200 ms. A row that changes again and
    /// again is written once in that time.
    package var applyIntervalTicks = 50
    /// The same once the log has gained ``replayedBytesSoft`` in that time.
    package var busyApplyIntervalTicks = 10
    /// Growth of the log, in bytes, from which ``busyApplyIntervalTicks`` applies: a start after a crash reads all of
    /// it.
    package var replayedBytesSoft = 64 << 20
    /// The maximum number of log bytes read for listeners that resume; those that need more start over.
    package var resumeBytesMax = 64 << 20
    /// Bytes of a value of the past that is put together in memory, and of the changes that make it. Others are put
    /// together in a file.
    package var pastBytesMax = 16 << 20
    /// The time without use after which a database is closed, in milliseconds.
    package var idleMillisecondsMax: Int64 = 300_000
    /// How long the commit log reaches back, in milliseconds.
    package var logWindowMilliseconds: Int64 = 24 * 3_600_000
    /// Size at which the commit log loses its oldest rows even within the window, in bytes.
    package var logBytesMax: Int64 = 4 << 30

    package init() {}
}

extension DatabaseLimits {
    var turnNanosecondsMax: Int64 { turnTimeMax.nanoseconds }
    var stepNanosecondsMax: Int64 { stepTimeMax.nanoseconds }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
