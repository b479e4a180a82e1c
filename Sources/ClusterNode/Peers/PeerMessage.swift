package import HearthRealtimeDatabase

/// The messages of nodes over a link (LinkSession.swift).
///
/// ```
/// message = 1 database:bytes connection:n number:n client:n principal:bytes operation     a client's write
///         | 2 database:bytes connection:n number:n sequence:n reply                        its answer
///         | 3 database:bytes connection:n                           nothing is owed to this connection any more
///         | 4                                                       the link ends, and with it all connections
///         | 5 feed:n database:bytes epoch:n sequence:n   the other node is to pass on what follows `sequence`
///         | 6 feed:n                                     it no longer has to
///         | 7 feed:n floor:n owner:bytes batch:bytes     the log's floor and owner, and a LogBatch; that is empty to
///                                                        say only that the log is passed on
///         | 8 feed:n                                     it is not, or not any more
/// ```
/// From 5 on, they are of version 2 of the protocol (``PeerHandshake``). The node that asks chooses the number of a
/// feed, another one each time. The owner is empty for none.
///
/// A number `n` is LEB128, `bytes` follow their count. The number of a connection is the one that its own node has
/// given it.
package enum PeerMessage {
    case request(database: String, connection: UInt64, number: Int64, client: UInt64, principal: [UInt8], Operation)
    case answer(database: String, connection: UInt64, number: Int64, sequence: UInt64, Reply)
    case ended(database: String, connection: UInt64)
    case farewell
    case follow(feed: UInt64, database: String, epoch: UInt64, sequence: UInt64)
    case unfollow(feed: UInt64)
    case fed(feed: UInt64, floor: UInt64, owner: String?, batch: [UInt8])
    case feedEnded(feed: UInt64)

    /// Of the kind, two numbers and two counts.
    private static let fedHeadSizeMax = 1 + 4 * 10

    package var bytes: [UInt8] {
        var out = MessageWriter()
        switch self {
        case .request(let database, let connection, let number, let client, let principal, let operation):
            out.add(byte: 1)
            out.add(database)
            out.add(connection)
            out.add(UInt64(bitPattern: number))
            out.add(client)
            // Nodes of earlier builds know this administrator only as one like the others.
            let isQuiet = principal == Principal.quietAdministrator.stored
            out.add(isQuiet ? Principal.administrator.stored : principal)
            out.add(operation, isQuiet: isQuiet)
        case .answer(let database, let connection, let number, let sequence, let reply):
            out.add(byte: 2)
            out.add(database)
            out.add(connection)
            out.add(UInt64(bitPattern: number))
            out.add(sequence)
            out.add(reply)
        case .ended(let database, let connection):
            out.add(byte: 3)
            out.add(database)
            out.add(connection)
        case .farewell: out.add(byte: 4)
        case .follow(let feed, let database, let epoch, let sequence):
            out.add(byte: 5)
            out.add(feed)
            out.add(database)
            out.add(epoch)
            out.add(sequence)
        case .unfollow(let feed):
            out.add(byte: 6)
            out.add(feed)
        case .fed(let feed, let floor, let owner, let batch):
            out = MessageWriter(reserving: batch.count + (owner ?? "").utf8.count + Self.fedHeadSizeMax)
            out.add(byte: 7)
            out.add(feed)
            out.add(floor)
            out.add(owner ?? "")
            out.add(batch)
        case .feedEnded(let feed):
            out.add(byte: 8)
            out.add(feed)
        }
        return out.bytes
    }

    package init(_ bytes: ArraySlice<UInt8>) throws(MalformedMessage) {
        var reader = MessageReader(bytes)
        switch try reader.byte() {
        case 1:
            let (database, connection) = (try reader.text(), try reader.number())
            let (number, client) = (Int64(bitPattern: try reader.number()), try reader.number())
            let principal = try reader.slice()
            let operation = try reader.operation()
            let isQuiet = reader.hasQuietWrites && principal == Principal.administrator.stored
            self = .request(
                database: database, connection: connection, number: number, client: client,
                principal: isQuiet ? Principal.quietAdministrator.stored : principal, operation)
        case 2:
            self = .answer(
                database: try reader.text(), connection: try reader.number(),
                number: Int64(bitPattern: try reader.number()), sequence: try reader.number(), try reader.reply())
        case 3: self = .ended(database: try reader.text(), connection: try reader.number())
        case 4: self = .farewell
        case 5:
            self = .follow(
                feed: try reader.number(), database: try reader.text(), epoch: try reader.number(),
                sequence: try reader.number())
        case 6: self = .unfollow(feed: try reader.number())
        case 7:
            let (feed, floor, owner) = (try reader.number(), try reader.number(), try reader.text())
            self = .fed(
                feed: feed, floor: floor, owner: owner.isEmpty ? nil : owner, batch: try reader.slice())
        case 8: self = .feedEnded(feed: try reader.number())
        default: throw MalformedMessage()
        }
        guard reader.isAtEnd else { throw MalformedMessage() }
    }
}
