import CHearthLinux
import HearthSystem

/// The system's events of a descriptor.
struct Readiness: OptionSet {
    let rawValue: UInt32

    static let readable = Readiness(rawValue: UInt32(LINUX_READABLE))
    static let writable = Readiness(rawValue: UInt32(LINUX_WRITABLE))
    static let peerClosed = Readiness(rawValue: UInt32(LINUX_PEER_CLOSED))
    /// Reported whether asked for or not.
    static let error = Readiness(rawValue: UInt32(LINUX_ERROR))
    /// Reported whether asked for or not: both directions have ended.
    static let hangUp = Readiness(rawValue: UInt32(LINUX_HANGUP))
    /// As an interest: report changes, not states.
    static let onChange = Readiness(rawValue: UInt32(LINUX_EDGE))
}

/// Something with a descriptor that a loop watches.
protocol Pollable: AnyObject {
    func ready(_ readiness: Readiness)
    /// The loop is to end: finish, and let go of the descriptor.
    func shutdownRequested()
}

/// An epoll set and the table of its descriptors' owners.
///
/// A descriptor's events carry the place of its owner in the table and that place's generation. A place gets a new
/// generation when it is vacated, so events that were already fetched for a closed descriptor find no owner, even if
/// the number of the descriptor and the place in the table are in use again.
final class Poller {
    struct Token {
        fileprivate var slot: UInt32
        fileprivate var generation: UInt32
    }

    private struct Entry {
        var owner: (any Pollable)?
        var generation: UInt32
    }

    /// An owner-less place, for the descriptor whose only use is to wake the loop.
    private static let wakeUpSlot = UInt32.max
    private static let eventsMax = 512

    private let epoll: Int32
    private let wakeUp: Int32
    private let events: UnsafeMutablePointer<linux_event>
    private var entries: [Entry] = []
    private var vacant: [UInt32] = []

    init() throws(SystemError) {
        let epoll = try SystemError.check(linux_epoll_create(), "create epoll set")
        let wakeUp = linux_eventfd()
        // Edge-triggered: each signal is reported once, and the count in the descriptor is never read.
        let added =
            wakeUp < 0
            ? wakeUp
            : linux_epoll_add(
                epoll, wakeUp, Readiness([.readable, .onChange]).rawValue, Poller.wakeUpSlot, 0)
        if added < 0 {
            Descriptor.close(wakeUp)
            Descriptor.close(epoll)
            throw SystemError("create wake-up descriptor", code: -added)
        }
        self.epoll = epoll
        self.wakeUp = wakeUp
        events = .allocate(capacity: Poller.eventsMax)
    }

    deinit {
        Descriptor.close(wakeUp)
        Descriptor.close(epoll)
        events.deallocate()
    }

    /// Ends the wait under way, or else the next one, at once. May be called by any thread: it uses one constant.
    func wake() { _ = linux_eventfd_signal(wakeUp) }

    func add(_ owner: any Pollable, _ descriptor: Int32, _ interest: Readiness) throws(SystemError) -> Token {
        let slot = vacant.popLast() ?? UInt32(entries.count)
        if slot == entries.count { entries.append(Entry(owner: nil, generation: 0)) }
        let token = Token(slot: slot, generation: entries[Int(slot)].generation)
        let added = linux_epoll_add(epoll, descriptor, interest.rawValue, token.slot, token.generation)
        if added < 0 {
            vacant.append(slot)
            throw SystemError("watch descriptor", code: -added)
        }
        entries[Int(slot)].owner = owner
        return token
    }

    func change(_ token: Token, _ descriptor: Int32, _ interest: Readiness) {
        _ = linux_epoll_modify(epoll, descriptor, interest.rawValue, token.slot, token.generation)
    }

    /// Forgets the owner, and the descriptor, which stays open.
    func release(_ token: Token, _ descriptor: Int32) {
        _ = linux_epoll_remove(epoll, descriptor)
        remove(token)
    }

    /// Forgets the owner. The descriptor leaves the set when the owner closes it, which it does next.
    func remove(_ token: Token) {
        entries[Int(token.slot)].owner = nil
        entries[Int(token.slot)].generation &+= 1
        vacant.append(token.slot)
    }

    /// Waits for at most so many milliseconds, or without end if negative.
    ///
    /// - returns: how many events there are for `dispatch(_:)`.
    func wait(milliseconds: Int32) -> Int {
        let count = linux_epoll_wait(epoll, events, Int32(Poller.eventsMax), milliseconds)
        precondition(count >= 0, "the epoll set is broken")
        return Int(count)
    }

    /// Calls the owner of the event with this number, if it still has one.
    func dispatch(_ index: Int) {
        let event = events[index]
        guard event.slot < entries.count else { return }
        let entry = entries[Int(event.slot)]
        guard entry.generation == event.generation, let owner = entry.owner else { return }
        owner.ready(Readiness(rawValue: event.ready))
    }

    /// Everybody who is watched at the moment.
    var owners: [any Pollable] { entries.compactMap(\.owner) }
}
