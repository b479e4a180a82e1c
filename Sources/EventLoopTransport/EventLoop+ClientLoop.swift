import HearthSystem
package import HearthClientTransport
package import HearthEventLoop

extension EventLoop: ClientLoop {
    package var time: Duration { .nanoseconds(now.nanoseconds) }

    @discardableResult
    package func callLater(after delay: Duration, _ action: @escaping () -> Void) -> any ClientTimer {
        schedule(after: delay, action)
    }

    package func connect(to endpoint: ClientEndpoint, handler: any ClientStreamHandler) -> any ClientStream {
        let stream = EventLoopStream(handler)
        stream.connect(to: endpoint, on: self)
        return stream
    }
}

extension Timer: ClientTimer {}
