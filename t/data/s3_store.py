# An S3 server for tests, which verifies signatures: the proxy, account, container and
# object servers of OpenStack Swift in one process, on ports of 127.0.0.1, with Swift's
# middleware s3api.
#
# usage: python3 s3_store.py DIRECTORY ACCESS_KEY SECRET
#
# The access key is "account:user".  Data is stored in DIRECTORY.  When the server accepts
# connections, the file DIRECTORY/port contains its port.

import errno
import logging
import os
import sys

import eventlet
import eventlet.wsgi

eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True, time=True)

LOG = """
log_level = ERROR
log_address = /nonexistent
log_custom_handlers = __main__.log_to_stderr
"""

PROXY = """
[DEFAULT]
swift_dir = {directory}
{log}
[pipeline:main]
# the proxy adds other filters that it needs
pipeline = s3api tempauth slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
# a busy machine is slow
conn_timeout = 60
node_timeout = 60

[filter:tempauth]
use = egg:swift#tempauth
user_{user} = {secret} .admin

[filter:s3api]
use = egg:swift#s3api
location = us-east-1

[filter:slo]
use = egg:swift#slo
"""


def log_to_stderr(conf, name, to_console, route, fmt, logger, adapted_logger):
    logger.addHandler(logging.StreamHandler(sys.stderr))


class Attributes:
    """Extended attributes in memory, because some file systems have none."""

    def __init__(self):
        self.values = {}

    @staticmethod
    def key(file, name):
        found = os.stat(file.fileno() if hasattr(file, 'fileno') else file)
        return found.st_dev, found.st_ino, name

    def setxattr(self, file, name, value, *ignored):
        self.values[self.key(file, name)] = value

    def getxattr(self, file, name, *ignored):
        try:
            return self.values[self.key(file, name)]
        except KeyError:
            raise OSError(errno.ENODATA, os.strerror(errno.ENODATA))


class NoCache:
    """The cache that tempauth requires.  It remembers nothing."""

    def __getattr__(self, method):
        return lambda *args, **kwargs: None


def write_file(path, text):
    with open(path + '.new', 'w') as file:
        file.write(text)
    os.rename(path + '.new', path)


def serve(socket, app):
    from swift.common.http_protocol import SwiftHttpProtocol

    eventlet.spawn(eventlet.wsgi.server, socket, app, log=sys.stderr, log_output=False,
                   protocol=SwiftHttpProtocol)


def start_backend(directory, kind, controller):
    """Starts the servers of a kind, which is one server here, and writes their ring."""
    from swift.common.ring import RingBuilder

    socket = eventlet.listen(('127.0.0.1', 0))
    ring = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
    ring.add_dev({'id': 0, 'region': 1, 'zone': 1, 'weight': 1, 'device': 'device',
                  'ip': '127.0.0.1', 'port': socket.getsockname()[1]})
    ring.rebalance()
    ring.get_ring().save(os.path.join(directory, kind + '.ring.gz'))
    conf = dict(line.split(' = ') for line in LOG.strip().split('\n'))
    serve(socket, controller(dict(conf, devices=directory, swift_dir=directory, mount_check='false')))


def main(directory, access_key, secret):
    from swift.common import utils

    os.mkdir(os.path.join(directory, 'device'))
    write_file(os.path.join(directory, 'swift.conf'), '[swift-hash]\nswift_hash_path_suffix = test\n')
    utils.set_swift_dir(directory)

    # these read the configuration
    from swift.account.server import AccountController
    from swift.common.wsgi import loadapp
    from swift.container.server import ContainerController
    from swift.obj import diskfile
    from swift.obj.server import ObjectController

    diskfile.xattr = Attributes()
    start_backend(directory, 'account', AccountController)
    start_backend(directory, 'container', ContainerController)
    start_backend(directory, 'object', ObjectController)

    path = os.path.join(directory, 'proxy-server.conf')
    write_file(path, PROXY.format(directory=directory, log=LOG, user=access_key.replace(':', '_'), secret=secret))
    app = loadapp(path)
    cache = NoCache()

    def app_with_cache(env, start_response):
        env['swift.cache'] = cache
        return app(env, start_response)

    socket = eventlet.listen(('127.0.0.1', 0))
    serve(socket, app_with_cache)
    write_file(os.path.join(directory, 'port'), '%d\n' % socket.getsockname()[1])
    while True:
        eventlet.sleep(3600)


main(*sys.argv[1:])
