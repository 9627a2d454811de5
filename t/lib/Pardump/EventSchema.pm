# Validates events of --log-json against doc/events.schema.json, by the keywords
# of JSON Schema that this file uses.

package Pardump::EventSchema;

use strict;
use warnings;

use B;
use Exporter qw(import);
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(event_kinds events_valid_ok);

my $schema = JSON::PP->new->utf8->decode(slurp_file("$FindBin::RealBin/../doc/events.schema.json"));

# JSON::PP makes a number of 1, and a string of "1".
sub is_number
{
	my ($value) = @_;
	my $flags = B::svref_2object(\$value)->FLAGS;
	return !ref $value && $flags & (B::SVp_IOK | B::SVp_NOK) && !($flags & B::SVp_POK);
}

my %is_type = (
	object => sub { ref $_[0] eq 'HASH' },
	string => sub { !ref $_[0] && !is_number($_[0]) },
	integer => sub { is_number($_[0]) && $_[0] == int $_[0] },
	number => sub { is_number($_[0]) });

# Each keyword returns what is wrong with a value; if and then are checked together.
my %check;
%check = (
	'$ref' => sub { problems(resolve($_[1]), $_[0], $_[2]) },
	type => sub { $is_type{ $_[1] }->($_[0]) ? () : "$_[2] is not of type $_[1]" },
	const => sub { $_[0] eq $_[1] ? () : "$_[2] is not $_[1]" },
	enum => sub { my ($value, $allowed, $name) = @_; grep({ $_ eq $value } @$allowed) ? () : "$name has value $value" },
	pattern => sub { $_[0] =~ /$_[1]/ ? () : "$_[2] does not match $_[1]" },
	minimum => sub { $_[0] >= $_[1] ? () : "$_[2] is less than $_[1]" },
	required => sub { my ($value, $keys) = @_; map { exists $value->{$_} ? () : "$_ is missing" } @$keys },
	properties => sub {
		my ($value, $members) = @_;
		return map { exists $value->{$_} ? problems($members->{$_}, $value->{$_}, $_) : () } sort keys %$members;
	},
	allOf => sub { my ($value, $all, $name) = @_; map { problems($_, $value, $name) } @$all },
	if => sub { () },
	then => sub { () });

sub resolve
{
	my ($name) = $_[0] =~ m{^#/\$defs/(\w+)\z} or die "unknown reference \"$_[0]\"";
	return $schema->{'$defs'}{$name} // die "no definition of \"$name\"";
}

sub problems
{
	my ($rule, $value, $name) = @_;
	my @found;
	foreach my $keyword (sort { ($b eq 'type') <=> ($a eq 'type') || $a cmp $b }
		grep { !/^(\$schema|\$defs|title|description)\z/ } keys %$rule)
	{
		my $function = $check{$keyword} // die "unknown keyword \"$keyword\"";
		push @found, $function->($value, $rule->{$keyword}, $name);
	}
	push @found, problems($rule->{then}, $value, $name) if $rule->{if} && !problems($rule->{if}, $value, $name);
	return @found;
}

# All kinds of events.
sub event_kinds
{
	return map { /^event_(\w+)\z/ ? $1 : () } sort keys %{ $schema->{'$defs'} };
}

# All lines of a log are valid events, of kinds and with members that the schema
# defines.  The log contains events of @kinds, among others.
sub events_valid_ok
{
	my ($what, $text, @kinds) = @_;
	my (@found, %seen);
	foreach my $line (split /\n/, $text)
	{
		my $event = JSON::PP->new->utf8->decode($line);
		$seen{ $event->{event} } = 1;
		my $members = ($schema->{'$defs'}{"event_$event->{event}"} // {})->{properties};
		push @found, map { "$_: $line" } problems($schema, $event, 'event'),
		  $members ? map({ "unknown member $_" } grep { !$members->{$_} && !$schema->{properties}{$_} } sort keys %$event)
		  : 'unknown event';
	}
	isnt($text, '', "$what: there are events");
	is_deeply(\@found, [], "$what: events are valid");
	is_deeply([ grep { !$seen{$_} } @kinds ], [], "$what: kinds of events") if @kinds;
	return;
}

1;
