import HearthEtcdGateway
import HearthEtcdMessages
import Testing

@Suite("Attempts at members") struct MemberAttemptsTests {
    private let unknown = EtcdError.outcomeUnknown("silence")

    @Test("a call that may be repeated goes round all members, with a pause after each round") func rounds() {
        var attempts = MemberAttempts(memberCount: 3, isRepeatable: true)
        for round in 0..<2 {
            for error in [EtcdError.unavailable("refused"), unknown, .noLeader].enumerated() {
                let pause = error.offset == 2 ? MemberAttempts.pauseMilliseconds : 0
                let step = attempts.failed(error.element, hasTime: true)
                #expect(step == .nextMember(afterMilliseconds: pause), "round \(round)")
            }
        }
    }

    @Test("a call that must not be repeated continues only while nothing can have been done") func once() {
        var attempts = MemberAttempts(memberCount: 3, isRepeatable: false)
        #expect(attempts.failed(.unavailable("refused"), hasTime: true) == .nextMember(afterMilliseconds: 0))
        #expect(attempts.failed(.noLeader, hasTime: true) == .nextMember(afterMilliseconds: 0))
        #expect(attempts.failed(unknown, hasTime: true) == .fail(unknown))
    }

    @Test("when time is up, an attempt of unknown outcome outweighs those that did nothing") func unknownWins() {
        var attempts = MemberAttempts(memberCount: 2, isRepeatable: true)
        _ = attempts.failed(unknown, hasTime: true)
        #expect(attempts.failed(.unavailable("refused"), hasTime: false) == .fail(unknown))
        var other = MemberAttempts(memberCount: 2, isRepeatable: true)
        _ = other.failed(.noLeader, hasTime: true)
        #expect(other.failed(.unavailable("refused"), hasTime: false) == .fail(.unavailable("refused")))
    }

    @Test(
        "an error that every member would give ends the call",
        arguments: [EtcdError.tooLarge, .leaseNotFound, .noSpace])
    func definite(error: EtcdError) {
        var attempts = MemberAttempts(memberCount: 3, isRepeatable: true)
        #expect(attempts.failed(error, hasTime: true) == .fail(error))
        // An attempt before it may have been applied.
        #expect(!error.isDefinite)
    }

    @Test("an overloaded cluster is asked again after a pause") func overloaded() {
        var attempts = MemberAttempts(memberCount: 1, isRepeatable: true)
        #expect(attempts.failed(.overloaded, hasTime: true) == .nextMember(afterMilliseconds: 50))
        #expect(attempts.failed(.overloaded, hasTime: false) == .fail(.overloaded))
    }
}
