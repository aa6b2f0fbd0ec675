"""Figures for people: a value with its unit, an en dash where it is not known."""

from django import template

register = template.Library()
