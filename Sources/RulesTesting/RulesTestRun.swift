package import HearthJSONTree
package import HearthRealtimeDatabase
package import HearthSecurityRules

extension RulesProgram {
    /// Runs a case, and adds its use of the rules to `coverage`.
    package func run(_ test: RulesTest, _ coverage: inout RulesCoverage) -> RulesTestResult {
        let run = RulesTestRun(test, TestedDatabase(self, test.data, now: test.start))
        run.database.coverage = coverage
        let result = run.result()
        coverage = run.database.coverage ?? coverage
        return result
    }
}

extension RulesProgram {
    /// The decision of the rules and settings on an operation of somebody on some data. It is not made.
    package func explain(
        _ operation: Operation, by principal: Principal, on data: CanonicalJSON, now: Int64
    ) -> Explanation {
        TestedDatabase(self, data, now: now).explain(operation, by: principal)
    }
}

/// One run of a case.
private struct RulesTestRun {
    let test: RulesTest
    let database: TestedDatabase

    init(_ test: RulesTest, _ database: TestedDatabase) { (self.test, self.database) = (test, database) }

    func result() -> RulesTestResult {
        var result = RulesTestResult(test: test)
        for (index, step) in test.steps.enumerated() {
            var failure = RulesTestResult.Failure(step: index + 1, line: step.line)
            make(step, &failure)
            if !failure.differences.isEmpty { result.failures.append(failure) }
        }
        return result
    }

    private func make(_ step: RulesTest.Step, _ failure: inout RulesTestResult.Failure) {
        switch step.time {
        case .at(let time):
            if time < database.now {
                failure.differences.append(.init(expected: "now \(time)", found: "it is \(database.now) already"))
            }
            database.move(to: time)
        case .after(let time): database.move(to: min(database.now + time, QueueDefinition.never))
        }
        if let action = step.action {
            let (outcome, explanation) = outcome(of: action, step)
            compare(outcome, step.expected, &failure)
            if !failure.differences.isEmpty { failure.explanation = explanation }
        }
        compareEvents(step.expected, &failure)
        for (path, value) in step.expected.values {
            let (expected, found) = (resolved(value), database.value(at: path))
            guard expected != found else { continue }
            failure.differences.append(.init(expected: "\(path) is \(expected)", found: "\(found)"))
        }
    }

    /// - returns: the decision of the rules, too.
    private func outcome(
        of action: RulesTest.Action, _ step: RulesTest.Step
    ) -> (RulesTestOutcome, Explanation?) {
        switch action {
        case .ask(let operation):
            let explanation = database.explain(operation, by: step.principal)
            let reply = database.ask(operation, by: step.principal, client: step.client)
            return (RulesTestOutcome(reply), explanation)
        case .readPast(let path, let question):
            do throws(TestedPast.Refusal) {
                let answer = try database.readPast(path, question, by: step.principal, client: step.client)
                return (.allowed(answer), nil)
            } catch {
                return (RulesTestOutcome(error), nil)
            }
        case .restore(let path, let time):
            let value: CanonicalJSON
            do throws(TestedPast.Refusal) {
                value = try database.readPast(path, .whole(at: time), by: step.principal, client: step.client)
            } catch {
                return (RulesTestOutcome(error), nil)
            }
            // An ordinary write.
            let operation = Operation.set(WriteTarget(path: path), IncomingValue(json: value))
            return outcome(of: .ask(operation), step)
        case .work(let queue, let work):
            let operation = Operation.job(queue, database.operation(work, at: queue))
            let explanation = database.explain(operation, by: step.principal)
            let reply = database.ask(operation, by: step.principal, client: step.client, worker: work.worker)
            if case .claim = work.kind, case .value(let answer) = reply {
                let jobs = database.take(jobsOf: answer, at: queue, by: work.worker)
                return (.allowed(Self.list(jobs)), explanation)
            }
            return (RulesTestOutcome(reply), explanation)
        }
    }

    // MARK: Comparing

    private func compare(
        _ outcome: RulesTestOutcome, _ expected: RulesTest.Expectation, _ failure: inout RulesTestResult.Failure
    ) {
        guard outcome.isAllowed == expected.isAllowed else {
            let text = expected.isAllowed == true ? "allowed" : "denied\(expected.why.map { " (\($0))" } ?? "")"
            return failure.differences.append(.init(expected: text, found: outcome.description))
        }
        switch outcome {
        case .allowed(let answer):
            if let wanted = expected.answer.map(resolved) ?? expected.jobs.map(Self.list), wanted != answer {
                failure.differences.append(.init(expected: "\(wanted)", found: "\(answer ?? .null)"))
            }
        case .refused(let why, _, let retryAfter):
            if let wanted = expected.why, wanted != why {
                failure.differences.append(.init(expected: "denied (\(wanted))", found: outcome.description))
            }
            if let wanted = expected.retry, wanted != retryAfter {
                let found = retryAfter.map { "retry after \($0) ms" } ?? "never"
                failure.differences.append(.init(expected: "retry after \(wanted) ms", found: found))
            }
        }
    }

    private func compareEvents(_ expected: RulesTest.Expectation, _ failure: inout RulesTestResult.Failure) {
        let found = database.takeEvents()
        guard let wanted = expected.events else { return }
        var left = found
        var missing: [RulesTest.Event] = []
        // Those with a path first, so that those without do not match their events.
        for event in wanted.filter({ $0.path != nil }) + wanted.filter({ $0.path == nil }) {
            let index = left.firstIndex { $0.trigger == event.trigger && (event.path ?? $0.path) == $0.path }
            if let index { left.remove(at: index) } else { missing.append(event) }
        }
        if missing.isEmpty, left.isEmpty { return }
        let events = found.map { RulesTest.Event(trigger: $0.trigger, path: $0.path) }
        failure.differences.append(
            .init(expected: "events of \(Self.words(wanted))", found: "events of \(Self.words(events))"))
    }

    private static func words(_ events: [RulesTest.Event]) -> String {
        if events.isEmpty { return "no trigger" }
        return events.map { event in event.trigger + (event.path.map { " at \($0)" } ?? "") }
            .joined(separator: ", ")
    }

    /// A list of keys, as text for people and to be compared.
    private static func list(_ keys: [[UInt8]]) -> CanonicalJSON {
        var text: [UInt8] = Array("[".utf8)
        for (index, key) in keys.enumerated() {
            if index > 0 { text += Array(", ".utf8) }
            JSONText.appendQuoted(key, to: &text)
        }
        return CanonicalJSON(trusted: text + [UInt8(ascii: "]")])
    }

    private func resolved(_ value: CanonicalJSON) -> CanonicalJSON {
        value.resolved(timestamp: database.now) { _ in .null }
    }
}
