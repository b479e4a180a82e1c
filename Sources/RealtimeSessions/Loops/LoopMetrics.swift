package import HearthEventLoop
import HearthRealtimeDatabase
package import HearthSystem

/// The counts of one event loop for ``MetricsPage``. On its thread; a copy goes to the page.
package struct LoopMetrics: Sendable {
    package enum Transport: Int, CaseIterable, Sendable {
        case webSocket, longPolling, eventStream, http

        package var name: StaticString {
            switch self {
            case .webSocket: "websocket"
            case .longPolling: "long_polling"
            case .eventStream: "event_stream"
            case .http: "http"
            }
        }
    }

    /// Why a connection ended.
    package enum End: Int, CaseIterable, Sendable {
        case client, server, reset, timeout, slowConsumer, shutdown, tls, error

        init(_ reason: CloseReason) {
            self =
                switch reason {
                case .peer: .client
                case .local: .server
                case .reset: .reset
                case .timedOut: .timeout
                case .slowConsumer: .slowConsumer
                case .shutdown: .shutdown
                case .tls: .tls
                case .nameNotFound, .forbidden, .notConnected, .system: .error
                }
        }

        package var name: StaticString {
            switch self {
            case .client: "client"
            case .server: "server"
            case .reset: "reset"
            case .timeout: "timeout"
            case .slowConsumer: "slow_consumer"
            case .shutdown: "shutdown"
            case .tls: "tls"
            case .error: "error"
            }
        }
    }

    package private(set) var opened = [Int64](repeating: 0, count: Transport.allCases.count)
    package private(set) var closed = [Int64](repeating: 0, count: End.allCases.count)
    /// From the turn of the loop that receives a request to the one that sends its answer. Over HTTP each request is
    /// measured, on a realtime connection one at a time.
    package private(set) var latencies = [Histogram](
        repeating: Histogram(.durations), count: RequestKind.allCases.count)
    /// Messages and events that commits have caused, once for each connection that got them.
    package var pushes: Int64 = 0
    /// Event streams that go on.
    package var eventStreams = 0

    package mutating func noteOpened(_ transport: Transport) { opened[transport.rawValue] += 1 }

    package mutating func noteClosed(_ reason: CloseReason) { closed[End(reason).rawValue] += 1 }

    mutating func noteAnswer(_ kind: RequestKind, since start: MonotonicTime, now: MonotonicTime) {
        latencies[kind.rawValue].addTime(since: start, now: now)
    }

    /// For the page: with the counts of the loop itself.
    package struct Report: Sendable {
        package let metrics: LoopMetrics
        package let sessions: Int
        package let polledSessions: Int
        package let httpConnections: Int
        package let bytesReceived: UInt64
        package let bytesSent: UInt64
        package let handshakes: Int
        package let failedHandshakes: Int
        package let turns: Histogram

        package init(
            metrics: LoopMetrics, sessions: Int, polledSessions: Int, httpConnections: Int, bytesReceived: UInt64,
            bytesSent: UInt64, handshakes: Int, failedHandshakes: Int, turns: Histogram
        ) {
            self.metrics = metrics
            self.sessions = sessions
            self.polledSessions = polledSessions
            self.httpConnections = httpConnections
            self.bytesReceived = bytesReceived
            self.bytesSent = bytesSent
            self.handshakes = handshakes
            self.failedHandshakes = failedHandshakes
            self.turns = turns
        }
    }
}
