import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthRealtimeDatabase
import HearthSystem

/// Gets of a turn, which the loop answers itself if the databases rest, and else hands over like other requests.
extension LoopContext {
    private static let readsKept = 4096

    /// Whether a get may be left to the end of the turn: it must not come before requests that were submitted earlier.
    func mayRead(from database: UInt32) -> Bool {
        services.databases.answersAtOnce && answeredAt == nil && !hasRequests(to: database)
    }

    /// Answers a get at the end of this turn, or hands it to its database. Its session waits for nothing else.
    func read(_ read: consuming PlainRead, from database: UInt32) {
        var place = 0
        while place < reads.count, reads[place].database != database { place += 1 }
        if place == reads.count { reads.append((database, [])) }
        reads[place].batch.append(read)
        handOverAtEndOfTurn()
    }

    /// The answers to the gets of this turn. What cannot be answered at once becomes requests, before all others.
    func answerReads() -> [PlainAnswers] {
        var all: [PlainAnswers] = []
        for place in reads.indices where !reads[place].batch.isEmpty {
            let (database, batch) = reads[place]
            // Those of the first database have the time of a step.
            if place > 0 {
                prepend(batch.map(\.request), to: database)
                continue
            }
            let answers = services.databases.answerAtOnce(batch, of: database) {
                // Above the limit, answers of the databases' thread have slow clients disconnected at once.
                !loop.hasPostedWork && !loop.outbound.isExceeded
            }
            if !answers.left.isEmpty { prepend(answers.left.map { batch[$0].request }, to: database) }
            if !answers.runs.isEmpty { all.append(answers) }
        }
        // One database keeps its room.
        if reads.count == 1 {
            reads[0].batch.removeAll(keepingCapacity: reads[0].batch.count <= Self.readsKept)
        } else {
            reads = []
        }
        return all
    }

    /// What sessions ask as they are answered goes to the databases' thread, so that a turn ends.
    func send(_ answers: [PlainAnswers]) {
        if answers.isEmpty { return }
        answeredAt = .current
        for answers in answers { sendAnswers?(answers) }
        answeredAt = nil
    }
}
